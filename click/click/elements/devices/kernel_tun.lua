-- SPDX-License-Identifier: Apache-2.0
-- KernelTun hands IP packets to the kernel and takes them from it, by a TUN interface
-- of its own. KernelTap is the same with Ethernet frames.

local drops = require("core.fuse.drops")
local element = require("click.element")
local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local ffi = require("ffi")
local link_layers = require("click.devices.link_layers")
local note = require("click.note")
local packet = require("core.packet")
local process = require("core.lib.process")
local signals = require("click.router.signals")
local unistd = require("posix.unistd")
local wire = require("click.net.wire")

-- <linux/if_tun.h>, <linux/if.h>
ffi.cdef [[
  struct click_ifreq { char name[16]; short flags; char rest[22]; };
  int perigee_click_ioctl(int fd, unsigned long request, void *argument)
    __asm__("ioctl");
  ssize_t perigee_click_read(int fd, void *buffer, size_t size) __asm__("read");
  ssize_t perigee_click_write(int fd, const void *buffer, size_t size)
    __asm__("write");
]]
local TUNSETIFF = 0x400454ca
local IFF_TUN, IFF_TAP, IFF_NO_PI = 1, 2, 0x1000
local DEVICE = "/dev/net/tun"

local IP = link_layers.number("IP")
local MAC, TIMESTAMP = note.MAC_HEADER, note.TIMESTAMP
local LEAST_MTU, MOST_MTU = 21, 9000
local LINK_BYTES = 18 -- what TAP frames may have besides, a VLAN tag with them

local ARGUMENTS = {
  {"ADDR", "ip_prefix", required = true},
  {"GATEWAY", "ip", default = 0},
  {"TAP", "bool", keyword = true},
  {"HEADROOM", "unsigned", keyword = true},
  {"BURST", "int", default = 1, keyword = true},
  {"ETHER", "eth", keyword = true},
  {"IGNORE_QUEUE_OVERFLOWS", "bool", default = false, keyword = true},
  {"MTU", "unsigned", default = 1500, keyword = true},
  {"DEVNAME", "string", keyword = true}, {"DEV_NAME", "string", keyword = true},
}

local HANDLERS = {
  dev_name = element.data("device_name"), packets = element.data("received"),
}

local KernelTun = element.define{
  name = "KernelTun",
  summary = "exchanges IP packets with the kernel, by a TUN interface",
  ports = "0-1/1-2", processing = "a/h", flow = "x/y", emits = true,
  drops = {"not IP", "longer than the MTU", "the kernel doesn't take it"},
  arguments = ARGUMENTS, handlers = HANDLERS,
}

function KernelTun:configure(a)
  local prefix = a.ADDR and 2 ^ (32 - a.ADDR.length)
  self.address = a.ADDR
    and ("%s/%d"):format(wire.ip_text(a.ADDR.address), a.ADDR.length)
  self.gateway = a.GATEWAY ~= 0 and wire.ip_text(a.GATEWAY) or nil
  self.mtu, self.burst, self.ether = a.MTU, a.BURST, a.ETHER
  self.wanted_name = a.DEVNAME or a.DEV_NAME or ""
  self.tap = a.TAP == nil and self.class.name == "KernelTap" or a.TAP or false
  self.received = 0
  if self.gateway and not prefix then
    return self:error("GATEWAY needs an address")
  elseif self.gateway and math.floor(a.GATEWAY / prefix)
      ~= math.floor(a.ADDR.address / prefix) then
    return self:error("bad GATEWAY")
  elseif a.BURST < 1 then
    return self:error("BURST must be >= 1")
  elseif a.MTU < LEAST_MTU then
    return self:error("MTU must be greater than %d", LEAST_MTU - 1)
  elseif a.MTU > MOST_MTU then
    return self:error("MTU: out of range, bound %d", MOST_MTU)
  elseif not self.wanted_name:match("^[%w_.%-]*$") or #self.wanted_name > 15 then
    return self:error("bad DEVNAME")
  end
end

-- The interface --------------------------------------------------------------------

-- Open the interface; its descriptor and name, or nil and what is wrong.
local function open(self)
  local fd, problem = fcntl.open(DEVICE, fcntl.O_RDWR + fcntl.O_NONBLOCK
    + fcntl.O_CLOEXEC)
  if not fd then return nil, problem end
  local request = ffi.new("struct click_ifreq")
  ffi.copy(request.name, self.wanted_name)
  request.flags = IFF_NO_PI + (self.tap and IFF_TAP or IFF_TUN)
  if ffi.C.perigee_click_ioctl(fd, TUNSETIFF, request) < 0 then
    local reason = errno.errno(ffi.errno())
    unistd.close(fd)
    return nil, ("%s: %s"):format(DEVICE, reason)
  end
  return fd, ffi.string(request.name)
end

local function run(command, ...)
  return process.succeeds(command:format(...) .. " >&2")
end

-- Give it its addresses; what is wrong, if anything.
local function bring_up(self)
  local name = self.device_name
  if self.ether and self.tap then
    run("ip link set dev %s address %s", name,
      (("%02x:"):rep(5) .. "%02x"):format(self.ether:byte(1, 6)))
  end
  if self.address and not run("ip address add %s dev %s", self.address, name)
      or not run("ip link set dev %s mtu %d up", name, self.mtu) then
    return ("%s: it can't have the address %s"):format(name, self.address or "-")
  elseif self.gateway
      and not run("ip route add default via %s dev %s", self.gateway, name) then
    return ("%s: it can't have a route to %s"):format(name, self.gateway)
  end
end

function KernelTun:initialize()
  local fd, name = open(self)
  if not fd then return self:error("%s", name) end
  self.fd, self.device_name = fd, name
  self.room = self.mtu + (self.tap and LINK_BYTES or 0)
  self.buffer = ffi.new("uint8_t[?]", self.room)
  local problem = bring_up(self)
  if problem then return self:error("%s", problem) end
  self.reading = self.router:task(function () return self:receive() end)
  self.router:poll(self, function () self.reading:schedule() end,
    function () return {self.fd}, true end)
  if self.ninputs > 0 and self.processing.inputs == "l" then
    self.upstream = self.router:signals(self, 1)
    self:schedule()
  end
end

function KernelTun:cleanup()
  self.router:poll(self, nil)
  if self.fd then unistd.close(self.fd) end -- the interface goes with it
  self.fd = nil
end

-- Packets ---------------------------------------------------------------------------

-- A packet of `n` bytes from the kernel.
local function deliver(self, n)
  local p = packet.from_pointer(self.buffer, n)
  note.clear(p)
  p.note64[TIMESTAMP] = self.router:nanoseconds()
  self.received = self.received + 1
  if self.tap then
    p.note16[MAC] = p.data_off
    self.emit(1, p)
  elseif link_layers.find_ip(p, IP) then
    self.emit(1, p)
  elseif self.noutputs > 1 then
    self.emit(2, p)
  else
    drops.add(self, self.drops[1], 1)
    packet.free(p)
  end
end

--- Take up to a burst of packets from the kernel. True if there were any.
function KernelTun:receive()
  for i = 1, self.burst do
    local n = tonumber(ffi.C.perigee_click_read(self.fd, self.buffer, self.room))
    if n <= 0 then
      self.reading:unschedule()
      return i > 1
    end
    deliver(self, n)
  end
  return true
end

-- Hand a packet to the kernel: the number of the drop if it doesn't take it.
local function send(self, p)
  if p.length > self.room then return 2 end
  if ffi.C.perigee_click_write(self.fd, p.data, p.length) < 0 then return 3 end
end

function KernelTun:process(p)
  local problem = send(self, p)
  if problem then return nil, problem end
  packet.free(p)
  return false
end

function KernelTun:task()
  local pull = self.pull_from[1]
  for i = 1, self.burst do
    local p = pull()
    if not p then
      if not signals.any(self.upstream) then self:unschedule() end
      return i > 1
    end
    local problem = send(self, p)
    if problem then drops.add(self, self.drops[problem], 1) end
    packet.free(p)
  end
  return true
end

local KernelTap = element.define{
  name = "KernelTap", summary = "exchanges frames with the kernel, by a TAP interface",
  extends = KernelTun,
}

return {KernelTun, KernelTap}
