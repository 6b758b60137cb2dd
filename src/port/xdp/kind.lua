-- SPDX-License-Identifier: Apache-2.0
-- xdp: one queue of a kernel interface by AF_XDP.

local ffi = require("ffi")
local arguments = require("lib.port.arguments")
local driver = require("lib.port.driver")
local interfaces = require("lib.hardware.interfaces")
local needs = require("lib.port.needs")
local opened = require("lib.port.opened")
local standby = require("core.outside.standby")
local sysfs = require("lib.hardware.sysfs")

local C = require("core.declare")("port/xdp/xdp.h")
require("core.declare")("native/passed.h")

-- An AF_XDP frame is at most a page with the kernel's and DPDK's headroom in it, so
-- that 3,264 bytes are left at least; drivers refuse, or drop, what can't fit.
local MOST_FRAME = 3264
local ETHERNET_HEADER, VLAN_TAG = 14, 4
local MOST_MTU = MOST_FRAME - ETHERNET_HEADER - VLAN_TAG

local xdp = {
  name = "xdp", order = 5,
  summary = "a kernel interface by AF_XDP",
  positional = true,
  args = {
    arguments.at("iface", arguments.interface, "IFACE", "the kernel interface"),
    {name = "queue", type = arguments.integer(0, 65534), default = 0, show = "N",
      help = "the interface's queue to use"},
    arguments.wait,
  },
  driver = "net_af_xdp",
  most_mtu = MOST_FRAME - ETHERNET_HEADER,
  small_pool = true,
  full_bursts = true,
  takes_shared = true,
  bench = {order = 7, receive = "xdp:pgm0", send = "xdp:pgm1", round = 256,
    namespace = "veth"},
}

function xdp.devargs(port)
  return {"iface=" .. port.iface, "start_queue=" .. port.queue, "queue_count=1"}
end

function xdp.thing(port)
  return ("interface/%s/queue %d"):format(port.iface, port.queue)
end

function xdp.interface(port) return port.iface end

--- Its socket is readable while its ring has packets.
function xdp.wake_fds(_, port)
  local fd = C.pg_xdp_descriptor(port.iface, port.queue)
  return fd >= 0 and {fd} or nil
end

function xdp.suits(details) return not details.is_tap and 3 end

-- Has this process another queue of that interface already?
local function shares_interface(port)
  for other in opened.each() do
    local has_it = other ~= port and not other.away
    if has_it and other.driver == port.driver and other.iface == port.iface then
      return true
    end
  end
end

function xdp.check(port, roots)
  needs.interface(port, roots)
  local mtu = interfaces.details(port.iface, roots).mtu
  if mtu and mtu > MOST_MTU then
    needs.refuse(port, "the interface's MTU of %d is more than AF_XDP can carry (%d); "
      .. "lower it with: ip link set %s mtu %d, or write packet:%s", mtu, MOST_MTU,
      port.iface, MOST_MTU, port.iface)
  end
  local queues = ("%s/class/net/%s/queues"):format(roots.sys, port.iface)
  local rx_queue = ("%s/rx-%d"):format(queues, port.queue)
  if sysfs.exists(queues) and not sysfs.exists(rx_queue) then
    needs.refuse(port, "the interface '%s' has no receive queue %d", port.iface,
      port.queue)
  end
  needs.capabilities(port, {"CAP_NET_RAW", "CAP_NET_ADMIN", "CAP_BPF"}, roots)
end

--- It takes over the program of the process before, and waits for the queue alone
--- (bind.c), not for that process's end.
function xdp.is_passed() return C.pg_passed_taking() end

--- Another program is in the way. Those of Perigee share the interface, each process
--- with queues of its own; theirs ends with the last of them, however that does
--- (program.c).
function xdp.before_open(port)
  local owner = C.pg_xdp_owner(port.iface)
  if owner == C.XDP_UNKNOWN then -- that of the process which ends
    standby.await_end()
    owner = C.pg_xdp_owner(port.iface)
  end
  if owner == C.XDP_ANOTHERS then
    needs.refuse(port, "the interface has an XDP program already; end the process that "
      .. "uses it, or take the program off with: ip link set %s xdp off", port.iface)
  elseif owner == C.XDP_UNKNOWN and not shares_interface(port) then
    needs.refuse(port, "the interface has an XDP program already; to share it with "
      .. "another process of Perigee takes CAP_SYS_ADMIN")
  end
  driver.warn_of_checksums(port, port.iface, "AF_XDP",
    ("use packet:%s, or "):format(port.iface))
end

function xdp.not_started(_, reason)
  local problem = ffi.string(C.pg_xdp_problem())
  return problem ~= "" and ("%s (%s)"):format(problem, reason)
end

return xdp
