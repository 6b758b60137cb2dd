-- SPDX-License-Identifier: Apache-2.0
-- Looks at the machine before a port is plugged, and refuses with a sentence that says
-- what to do: DPDK's own drivers only log and return an error number. Changes nothing.
-- `roots` (optional, see lib.hardware.sysfs) lets tests bring their own /sys and /proc.

local failure = require("core.failure")
local capability = require("lib.hardware.capability")
local claims = require("lib.port.claims")
local files = require("lib.port.files")
local interfaces = require("lib.hardware.interfaces")
local pci_device = require("lib.hardware.pci_device")
local sysfs = require("lib.hardware.sysfs")
local unistd = require("posix.unistd")

local M = {}

local function refuse(port, fmt, ...)
  failure.usage("port '%s': " .. fmt, port.text, ...)
end

local function listed(names)
  return #names > 0 and table.concat(names, ", ") or "none"
end

local function need_capabilities(port, names, roots)
  local missing = capability.missing(names, roots)
  if #missing > 0 then
    refuse(port, "this needs root or %s; run it with sudo",
      table.concat(missing, " and "))
  end
end

local function spare_default_route(port, iface, roots)
  local over = interfaces.default_route_over(iface, roots)
  if over then
    refuse(port, "the default route goes over '%s'%s, and a port on it could cut this"
      .. " machine off; use another interface, or move the route away first",
      iface, over == iface and "" or (" (by '%s')"):format(over))
  end
end

local function existing_interface(port, roots)
  local iface = port.iface
  if not interfaces.exists(iface, roots) then
    refuse(port, "there is no kernel interface '%s'; there are: %s", iface,
      listed(interfaces.names(roots)))
  end
  spare_default_route(port, iface, roots)
  if interfaces.is_up(iface, roots) == false then
    refuse(port, "the interface '%s' is down; bring it up with: ip link set %s up",
      iface, iface)
  end
end

local by_kind = {}

function by_kind.packet(port, roots)
  existing_interface(port, roots)
  need_capabilities(port, {"CAP_NET_RAW"}, roots)
end

-- An AF_XDP frame is at most a page with the kernel's and DPDK's headroom in it, so
-- that 3,264 bytes are left; drivers refuse, or drop, what can't fit.
local MOST_XDP_MTU = 3264 - 18

function by_kind.xdp(port, roots)
  existing_interface(port, roots)
  local mtu = interfaces.details(port.iface, roots).mtu
  if mtu and mtu > MOST_XDP_MTU then
    refuse(port, "the interface's MTU of %d is more than AF_XDP can carry (%d); lower"
      .. " it with: ip link set %s mtu %d, or write packet:%s", mtu, MOST_XDP_MTU,
      port.iface, MOST_XDP_MTU, port.iface)
  end
  local queues = ("%s/class/net/%s/queues"):format(roots.sys, port.iface)
  local rx_queue = ("%s/rx-%d"):format(queues, port.queue)
  if sysfs.exists(queues) and not sysfs.exists(rx_queue) then
    refuse(port, "the interface '%s' has no receive queue %d", port.iface, port.queue)
  end
  need_capabilities(port, {"CAP_NET_RAW", "CAP_NET_ADMIN", "CAP_BPF"}, roots)
end

local function existing_tap(port, roots)
  local name = port.name
  local details = interfaces.details(name, roots)
  spare_default_route(port, name, roots)
  if not details.is_tap then
    refuse(port, "there is an interface '%s' that isn't a TAP; choose another name,"
      .. " or write packet:%s or xdp:%s", name, name, name)
  elseif not details.multi_queue then
    refuse(port, "DPDK opens a TAP that is there only if it was made with multi_queue;"
      .. " remove it, or make it with: ip tuntap add %s mode tap multi_queue", name)
  end
end

function by_kind.tap(port, roots)
  if interfaces.exists(port.name, roots) then existing_tap(port, roots) end
  if unistd.access(roots.dev .. "/net/tun", "rw") ~= 0 then
    refuse(port, "%s/net/tun can't be opened; load the kernel's module tun, and run"
      .. " as root", roots.dev)
  end
  need_capabilities(port, {"CAP_NET_ADMIN"}, roots)
end

local function problem_of(port, problem)
  if problem then refuse(port, "%s", problem) end
end

function by_kind.pcap(port)
  if port.rx then problem_of(port, files.unreadable_capture(port.rx)) end
  if port.tx then problem_of(port, files.unwritable(port.tx)) end
  if port.rx and port.tx and files.same(port.rx, port.tx) then
    refuse(port, "rx and tx are the same file; give tx another name")
  end
end

local function socket(port, makes_it, must_exist, roots)
  if makes_it and not claims.serves(port.socket) then
    problem_of(port, files.socket_taken(port.socket, roots))
  elseif must_exist then
    problem_of(port, files.no_socket(port.socket))
  else
    problem_of(port, files.no_directory(port.socket))
  end
end

function by_kind.memif(port, roots)
  socket(port, port.role == "server", false, roots)
end

function by_kind.vhost(port, roots)
  socket(port, port.client == 0, false, roots)
end

by_kind["virtio-user"] = function(port, roots)
  socket(port, port.server == 1, port.server == 0, roots)
end

local function bind_hint(address, device)
  local hint = ("dpdk-devbind.py -b vfio-pci %s (after modprobe vfio-pci)")
    :format(address)
  local iface = device.interfaces[1]
  if not iface then return hint end
  return ("%s, or use its kernel interface: xdp:%s or packet:%s")
    :format(hint, iface, iface)
end

function by_kind.pci(port, roots)
  local address = port.address
  local device = pci_device.read(address, roots)
  if not device then
    refuse(port, "there is no PCI device %s; PCI network devices here: %s", address,
      listed(pci_device.network_devices(roots)))
  elseif not device.is_network then
    refuse(port, "the PCI device %s isn't a network device; those here: %s", address,
      listed(pci_device.network_devices(roots)))
  end
  for _, iface in ipairs(device.interfaces) do
    spare_default_route(port, iface, roots)
  end
  if not device.driver then
    refuse(port, "the device has no kernel driver; bind it to vfio-pci with: %s",
      bind_hint(address, device))
  elseif not device.for_dpdk then
    refuse(port, "the kernel driver '%s' has the device; bind it to vfio-pci with: %s",
      device.driver, bind_hint(address, device))
  end
  local group = device.group and ("%s/vfio/%s"):format(roots.dev, device.group)
  if device.driver == "vfio-pci" and group and unistd.access(group, "rw") ~= 0 then
    refuse(port, "%s can't be opened; run as root, or give yourself the right with:"
      .. " chown $USER %s", group, group)
  end
end

--- Can the parsed `port` be plugged here and now? If not: a usage error that says why
--- and what to do. Ports in `leaving` (an array of parsed ports, optional) will be
--- closed first, so what they use counts as free.
function M.ready(port, roots, leaving)
  roots = roots or sysfs.roots
  local user = claims.user(port, leaving)
  if user then
    refuse(port, "this process uses it already%s; stop that app first, or use another",
      user.text == port.text and "" or (" by the port '%s'"):format(user.text))
  end
  local check = by_kind[port.kind]
  if check then check(port, roots) end
end

--- Note that a parsed port was plugged, and that it was unplugged (same table).
M.opened, M.closed = claims.claim, claims.release

-- The kernel interface that carries a port's packets, if any.
local function interface_of(port)
  return port.iface or (port.kind == "tap" and port.name) or nil
end

--- A token for `check.alive`, to be taken when the port has been plugged: the number
--- of its kernel interface, or nil if the port has none.
function M.token(port, roots)
  local iface = interface_of(port)
  return iface and interfaces.index(iface, roots)
end

--- Is the kernel interface of the parsed `port` still the one it was opened on? True
--- for ports without one (`token` nil). It costs one small read of sysfs.
function M.alive(port, token, roots)
  return token == nil or interfaces.index(interface_of(port), roots) == token
end

return M
