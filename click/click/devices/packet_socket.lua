-- SPDX-License-Identifier: Apache-2.0
-- Sockets that packets' bytes are sent to and received from: one system call a packet,
-- and no string made of it. Errors are texts of errno(3), as "connect: Connection
-- refused".

local bit = require("bit")
local ffi = require("ffi")
local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local dead_socket = require("core.outside.dead_socket")
local socket = require("posix.sys.socket")
local unistd = require("posix.unistd")
local read16 = require("net.wire.bytes").read16

ffi.cdef [[
  struct click_address { uint16_t family; uint8_t rest[108]; uint32_t size; };
  int click_connect(int, const void *, uint32_t) __asm__("connect");
  int click_bind(int, const void *, uint32_t) __asm__("bind");
  int click_accept(int, void *, uint32_t *) __asm__("accept");
  int click_getsockname(int, void *, uint32_t *) __asm__("getsockname");
  int click_setsockopt(int, int, int, const void *, uint32_t) __asm__("setsockopt");
  ssize_t click_recvfrom(int, void *, size_t, int, void *, uint32_t *)
    __asm__("recvfrom");
  ssize_t click_sendto(int, const void *, size_t, int, const void *, uint32_t)
    __asm__("sendto");
  struct click_pollfd { int fd; short events, revents; };
  int click_poll(struct click_pollfd *, unsigned long, int) __asm__("poll");
]]

local packet_socket = {}

local C = ffi.C
-- Linux: <sys/socket.h>, <netinet/in.h>, <netinet/tcp.h>, <poll.h>
local MSG_TRUNC, MSG_DONTWAIT, MSG_NOSIGNAL = 0x20, 0x40, 0x4000
local SOL_SOCKET, IPPROTO_IP, IPPROTO_TCP = 1, 0, 6
local OPTIONS = {
  SO_REUSEADDR = {SOL_SOCKET, 2}, SO_BROADCAST = {SOL_SOCKET, 6},
  IP_HDRINCL = {IPPROTO_IP, 3}, SO_SNDBUF = {SOL_SOCKET, 7},
  SO_RCVBUF = {SOL_SOCKET, 8}, TCP_NODELAY = {IPPROTO_TCP, 1},
  IP_MULTICAST_IF = {IPPROTO_IP, 32}, IP_MULTICAST_LOOP = {IPPROTO_IP, 34},
  IP_ADD_MEMBERSHIP = {IPPROTO_IP, 35},
}
local SEND_FLAGS = MSG_DONTWAIT + MSG_NOSIGNAL
local POLLOUT = 4
local INET_SIZE, ADDRESS_AT, PATH_AT = 16, 2, 2 -- bytes
local LONGEST_PATH = 108 -- <linux/un.h>, with the final zero
local PATIENCE_SECONDS = 10 -- with a server that takes no connection
local BACKLOG = 2

packet_socket.STREAM, packet_socket.DATAGRAM = socket.SOCK_STREAM, socket.SOCK_DGRAM
packet_socket.RAW = socket.SOCK_RAW
packet_socket.INET, packet_socket.UNIX = socket.AF_INET, socket.AF_UNIX
packet_socket.PACKET = 17 -- packet(7): what passes interfaces, by Ethernet type

-- Addresses ------------------------------------------------------------------------

local ADDRESS_SIZE = ffi.offsetof("struct click_address", "size")
local address_t, size_t = ffi.typeof("struct click_address"), ffi.typeof("uint32_t[1]")

--- Room for an address.
function packet_socket.new_address() return address_t() end

--- Set the IP address, a word in network order.
function packet_socket.set_ip(address, word)
  ffi.cast("int32_t *", address.rest + ADDRESS_AT)[0] = word
end

--- An IP address, as a word in network order.
function packet_socket.ip_of(address)
  return ffi.cast("int32_t *", address.rest + ADDRESS_AT)[0]
end

--- Its port.
function packet_socket.port_of(address)
  return read16(address.rest)
end

--- The address of an IP address (a word in network order) and a port.
function packet_socket.inet(word, port)
  local address = address_t()
  address.family, address.size = packet_socket.INET, INET_SIZE
  address.rest[0], address.rest[1] = bit.rshift(port, 8), bit.band(port, 255)
  packet_socket.set_ip(address, word)
  return address
end

--- The address of a Unix socket's path, or, if that begins with a zero, of one in the
--- abstract namespace; nil if it is too long.
function packet_socket.unix(path)
  local is_abstract = path:byte(1) == 0
  if #path > (is_abstract and LONGEST_PATH or LONGEST_PATH - 1) then return nil end
  local address = address_t()
  address.family = packet_socket.UNIX
  ffi.copy(address.rest, path, #path)
  address.size = PATH_AT + #path + (is_abstract and 0 or 1)
  return address
end

local PACKET_TYPE_AT, OUTGOING = 8, 4 -- <linux/if_packet.h>, behind the family

--- Was it sent by this machine, what a packet socket received from there?
function packet_socket.is_outgoing(address)
  return address.rest[PACKET_TYPE_AT] == OUTGOING
end

--- Do both have the same IP address and port?
function packet_socket.same(a, b)
  return packet_socket.ip_of(a) == packet_socket.ip_of(b)
    and packet_socket.port_of(a) == packet_socket.port_of(b)
end

-- Sockets --------------------------------------------------------------------------

local Socket = {}
Socket.__index = Socket

local function problem_of(call, number)
  return ("%s: %s"):format(call, (errno.errno(number or ffi.errno())))
end

-- The socket of a descriptor, which doesn't wait.
local function of(fd, kind)
  fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.O_NONBLOCK)
  fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
  -- With MSG_TRUNC, a stream's bytes would be thrown away (tcp(7)).
  local flags = kind == packet_socket.STREAM and MSG_DONTWAIT
    or MSG_DONTWAIT + MSG_TRUNC
  return setmetatable({fd = fd, flags = flags, size = size_t(), from = address_t(),
    room = ffi.new("struct click_pollfd[1]", {{fd, POLLOUT, 0}})}, Socket)
end

--- A socket of that family and kind, a raw one of a protocol above IP, a packet socket
--- of an Ethernet type in network order; or nil and what is wrong.
function packet_socket.open(family, kind, protocol)
  local fd, problem = socket.socket(family, kind, protocol or 0)
  if not fd then return nil, "socket: " .. problem end
  return of(fd, kind)
end

--- Set the option of that name to a number or some bytes; what is wrong, or nil.
function Socket:set(name, value)
  local option = OPTIONS[name]
  local data = type(value) == "number" and ffi.new("int[1]", value) or value
  local n = type(value) == "number" and ffi.sizeof("int") or #value
  if C.click_setsockopt(self.fd, option[1], option[2], data, n) < 0 then
    return problem_of(("setsockopt(%s)"):format(name))
  end
end

--- Bind it; what is wrong, or nil. The socket that an ended process left at a path is
--- replaced.
function Socket:bind(address, path)
  if path then dead_socket.remove(path) end
  if C.click_bind(self.fd, address, address.size) < 0 then return problem_of("bind") end
  self.path = path and path:byte(1) ~= 0 and path or nil
end

--- Listen for connections; what is wrong, or nil.
function Socket:listen()
  local ok, problem = socket.listen(self.fd, BACKLOG)
  if not ok then return "listen: " .. problem end
end

--- Connect it, which may take ten seconds; what is wrong, or nil.
function Socket:connect(address)
  fcntl.fcntl(self.fd, fcntl.F_SETFL, 0)
  socket.setsockopt(self.fd, SOL_SOCKET, socket.SO_SNDTIMEO, PATIENCE_SECONDS, 0)
  local result = C.click_connect(self.fd, address, address.size)
  local number = ffi.errno()
  fcntl.fcntl(self.fd, fcntl.F_SETFL, fcntl.O_NONBLOCK)
  if result >= 0 then return nil end
  if number == errno.EINPROGRESS or number == errno.EAGAIN then
    return ("connect: no answer within %d seconds"):format(PATIENCE_SECONDS)
  end
  return problem_of("connect", number)
end

--- Its own address.
function Socket:name()
  local address = address_t()
  self.size[0] = ADDRESS_SIZE
  C.click_getsockname(self.fd, address, self.size)
  address.size = self.size[0]
  return address
end

--- The next connection, and whose it is; nil if there is none, and what is wrong if
--- something is.
function Socket:accept()
  local from = address_t()
  self.size[0] = ADDRESS_SIZE
  local fd = C.click_accept(self.fd, from, self.size)
  if fd >= 0 then
    from.size = self.size[0]
    return of(fd, packet_socket.STREAM), from
  end
  local number = ffi.errno()
  if number ~= errno.EAGAIN and number ~= errno.EINTR
    and number ~= errno.ECONNABORTED then
    return nil, problem_of("accept", number)
  end
end

--- Receive into `data`, which has room for `n` bytes. How many there were, which may
--- be more for a datagram (0: the end of a stream); self.from is who sent them. Nil if
--- there is nothing, and what is wrong if something is.
function Socket:receive(data, n)
  self.size[0] = ADDRESS_SIZE
  local got = C.click_recvfrom(self.fd, data, n, self.flags, self.from, self.size)
  if got >= 0 then
    self.from.size = self.size[0]
    return tonumber(got)
  end
  local number = ffi.errno()
  if number == errno.EAGAIN or number == errno.EINTR then return nil end
  return nil, problem_of("recv", number)
end

--- Send `n` bytes, to `address` if it isn't nil. How many were taken; nil if there is
--- no room for now, and what is wrong if something is.
function Socket:send(data, n, address)
  local sent = C.click_sendto(self.fd, data, n, SEND_FLAGS, address,
    address and address.size or 0)
  if sent >= 0 then return tonumber(sent) end
  local number = ffi.errno()
  if number == errno.EAGAIN or number == errno.EINTR or number == errno.ENOBUFS then
    return nil
  end
  return nil, problem_of("send", number)
end

--- Wait until there is room to send, for so many milliseconds at most; is there?
function Socket:wait(milliseconds)
  return C.click_poll(self.room, 1, milliseconds) > 0
end

--- Close it.
function Socket:close()
  if not self.fd then return end
  unistd.close(self.fd)
  if self.path then os.remove(self.path) end
  self.fd = nil
end

return packet_socket
