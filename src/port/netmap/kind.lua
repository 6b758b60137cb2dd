-- SPDX-License-Identifier: Apache-2.0
-- netmap: an interface, a port of a VALE switch or an end of a pipe, by the module
-- netmap (netmap(4)) and our own driver (netmap.c). An interface is taken
-- away from the kernel's stack.

local arguments = require("lib.port.arguments")
local driver = require("lib.port.driver")
local needs = require("lib.port.needs")
local sysfs = require("lib.hardware.sysfs")
local unistd = require("posix.unistd")

local C = require("core.declare")("port/netmap/netmap.h")

-- The module's names: struct nmreq has room for 15 bytes.
local name_type = {
  wanted = "a name of netmap's of 1 to 15 bytes: an interface, vale0:a, a{1 or a}1",
  read = function (text)
    local bare = text:match("^[^/,=%%%[%]%s%c]+$") and not text:match("^%.%.?$")
    return bare and #text <= 15 and text or nil
  end,
}

local netmap = {
  name = "netmap", order = 6,
  summary = "an interface, a port of a VALE switch or an end of a pipe, by netmap",
  positional = true,
  args = {
    {name = "name", type = name_type, show = "NAME",
      help = "the kernel interface, VALE port (vale0:a) or pipe (a{1, a}1)"},
    arguments.wait,
  },
  full_bursts = true,
  takes_shared = true,
  lingers = true,
  bench = {order = 9, receive = "netmap:pgm{1", send = "netmap:pgm}1", round = 512},
  -- The module's driver for any interface, which goes through the kernel's.
  bench_also = {name = "netmap-veth", order = 10, receive = "netmap:pgm0",
    send = "netmap:pgm1", round = 256, namespace = "veth"},
}

--- VALE ports have a colon in their names, pipes a brace.
function netmap.interface(port)
  return not port.name:find("[:{}]") and port.name or nil
end

function netmap.thing(port)
  return (netmap.interface(port) and "interface/" or "netmap ") .. port.name
end

function netmap.check(port, roots)
  local device = roots.dev .. "/netmap"
  if not sysfs.exists(device) then
    needs.refuse(port, "there is no %s, as the kernel's module netmap isn't loaded; "
      .. "build it for this kernel (https://github.com/luigirizzo/netmap), and load it "
      .. "with: modprobe netmap", device)
  elseif unistd.access(device, "rw") ~= 0 then
    needs.refuse(port, "%s can't be opened by this user; run it with sudo", device)
  end
  if netmap.interface(port) then
    port.iface = port.name
    needs.interface(port, roots)
  end
end

function netmap.open(device_port, port)
  local is_interface = netmap.interface(port) ~= nil
  if is_interface then driver.warn_of_checksums(port, port.name, "netmap") end
  driver.check(port, C.pg_netmap_open(device_port, port.name, is_interface))
end

function netmap.wake_fds(device_port)
  return {C.pg_netmap_descriptor(device_port)}
end

netmap.tend = C.pg_netmap_tend

return netmap
