-- SPDX-License-Identifier: Apache-2.0
-- The addresses of the host's own interfaces, for names that no element defines: eth0
-- stands for its Ethernet address, its first IP address and that one's prefix, eth0:gw
-- for the gateway of the default route through it (netdevice(7), proc(5)).

local ffi = require("ffi")
local interfaces = require("lib.hardware.interfaces")
local socket = require("posix.sys.socket")
local sysfs = require("lib.hardware.sysfs")
local unistd = require("posix.unistd")
local number = require("net.wire.bytes").read32

ffi.cdef [[
  struct click_interface_request {
    char name[16];
    struct { uint16_t family; uint8_t data[22]; } address;
  };
  int perigee_click_interface(int fd, unsigned long request, void *argument)
    __asm__("ioctl");
]]
local SIOCGIFADDR, SIOCGIFNETMASK, SIOCGIFHWADDR = 0x8915, 0x891b, 0x8927
local AF_INET, ARPHRD_ETHER = 2, 1
local IN_DATA = 2 -- where sockaddr_in's address begins behind the family
local NAME = "^[%a][%w_.-]*$"
local MOST = 15 -- bytes of a name

local host_addresses = {}

-- What the kernel answers, or nil: the address's bytes, behind its family.
local function ask(name, what, family)
  local fd = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 0)
  if not fd then return nil end
  local request = ffi.new("struct click_interface_request")
  ffi.copy(request.name, name)
  local status = ffi.C.perigee_click_interface(fd, what, request)
  unistd.close(fd)
  if status < 0 or request.address.family ~= family then return nil end
  return request.address.data
end

local function ip(name)
  local data = ask(name, SIOCGIFADDR, AF_INET)
  return data and number(data + IN_DATA)
end

local function prefix(name)
  local address, data = ip(name), ask(name, SIOCGIFNETMASK, AF_INET)
  if not (address and data) then return nil end
  local mask, length = number(data + IN_DATA), 0
  while length < 32 and mask >= 2 ^ 32 - 2 ^ (31 - length) do length = length + 1 end
  return {address = address, mask = mask, length = length}
end

local function eth(name)
  local data = ask(name, SIOCGIFHWADDR, ARPHRD_ETHER)
  return data and ffi.string(data, 6)
end

-- The gateway of the default route by way of the interface.
local function gateway(name, roots)
  for _, line in ipairs(sysfs.lines(roots.proc .. "/net/route")) do
    local interface, hex = line:match("^(%S+)%s+00000000%s+(%x+)")
    if interface == name and tonumber(hex, 16) ~= 0 then
      local a, b, c, d = hex:match("^(%x%x)(%x%x)(%x%x)(%x%x)$")
      return tonumber(d .. c .. b .. a, 16)
    end
  end
end

local KINDS = {ip = ip, ip_prefix = prefix, eth = eth}

--- What an interface's name stands for: an address of that `kind`, as click.arguments
--- has it (ip, ip_prefix or eth); for ip also "eth0:gw". Nil if there is none. `roots`:
--- where /proc is.
function host_addresses.find(kind, name, roots)
  local look = KINDS[kind]
  local interface = kind == "ip" and name:match("^(.*):gw$")
  if not look or #(interface or name) > MOST or not (interface or name):find(NAME) then
    return nil
  end
  roots = roots or sysfs.roots
  if not interfaces.exists(interface or name, roots) then return nil end
  if interface then return gateway(interface, roots) end
  return look(name)
end

return host_addresses
