-- SPDX-License-Identifier: Apache-2.0
-- tap: a TAP interface, made if there is none of that name.

local device = require("lib.port.device")
local arguments = require("lib.port.arguments")
local iface = require("lib.port.iface")
local interfaces = require("lib.hardware.interfaces")
local needs = require("lib.port.needs")
local unistd = require("posix.unistd")

local C = require("core.declare")("port/packet/packet.h")

local tap = {
  name = "tap", order = 7,
  summary = "a TAP interface, made if there is none of that name",
  positional = true,
  args = {
    arguments.at("name", arguments.interface, "NAME", "the TAP interface"),
    arguments.offload,
  },
  driver = "net_tap",
  most_mtu = 1500, -- net_tap would try longer frames for ever
  makes_interface = true,
  restores_state = true,
  full_bursts = true,
  tidy = true,
  takes_shared = true,
  rx_interrupts = true,
  bench = {order = 8, receive = "tap:pgm0", send = "tap:pgm1", round = 128, most = 64,
    namespace = "bridge"},
}

--- In an upgrade the descriptor, which is the interface, goes to the next process.
function tap.pass(device_port, port, connection)
  if C.pg_tap_pass(device_port, connection) == 0 then
    device.hand_over(port, tap) -- its interface isn't put back
  end
end

tap.take, tap.forget = C.pg_tap_take, C.pg_tap_forget

--- With `before` (a struct iface) it keeps the address that it has.
function tap.devargs(port, before)
  return {"iface=" .. port.name, before and "mac=" .. iface.address(before) or nil}
end

function tap.thing(port) return "tap/" .. port.name end

function tap.interface(port) return port.name end

--- What the kernel sends by the interface and nobody reads in time, it drops.
function tap.lost(port)
  local dropped = C.pg_iface_tx_dropped(port.name)
  return dropped >= 0 and dropped or nil
end

--- Its driver's descriptor of the interface.
function tap.wake_fds(device_port)
  local fd = C.pg_port_descriptor(device_port)
  return fd >= 0 and {fd} or nil
end

function tap.suits(details) return details.is_tap and 1 end

local function check_existing(port, roots)
  local name = port.name
  local details = interfaces.details(name, roots)
  needs.no_default_route(port, name, roots)
  -- (Asked again: one that is being removed has lost what tells that it is a TAP.)
  if not details.is_tap and interfaces.exists(name, roots) then
    needs.refuse(port, "there is an interface '%s' that isn't a TAP; choose another "
      .. "name, or write packet:%s or xdp:%s", name, name, name)
  end
end

function tap.check(port, roots)
  if interfaces.exists(port.name, roots) then check_existing(port, roots) end
  if unistd.access(roots.dev .. "/net/tun", "rw") ~= 0 then
    needs.refuse(port, "%s/net/tun can't be opened; load the kernel's module tun, and "
      .. "run as root", roots.dev)
  end
  needs.capabilities(port, {"CAP_NET_ADMIN"}, roots)
end

return tap
