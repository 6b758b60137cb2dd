-- SPDX-License-Identifier: Apache-2.0
-- Socket sends packets to a TCP, UDP or Unix socket, and makes packets of what comes
-- from it. FromSocket and ToSocket are its older names.

local bit = require("bit")
local ffi = require("ffi")
local arguments = require("click.arguments")
local element = require("click.element")
local packet_socket = require("click.devices.packet_socket")
local socket_elements = require("click.devices.socket_elements")
local wire = require("click.net.wire")
local text_of = require("click.language.text")
require("click.classification.ip.named")

local DST_IP = require("click.note").DST_IP

local KEYWORDS = {
  {"NODELAY", "bool", default = true, keyword = true},
  {"CLIENT", "bool", keyword = true},
  {"VERBOSE", "bool", default = false, keyword = true},
  {"PROPER", "bool", default = false, keyword = true},
  {"ALLOW", "element", keyword = true}, {"DENY", "element", keyword = true},
}
for _, spec in ipairs(socket_elements.arguments) do KEYWORDS[#KEYWORDS + 1] = spec end

local function inet(protocol)
  return {
    {"ADDR", "ip", required = true},
    {"PORT", "named_port", required = true, protocol = protocol},
    {"LOCAL_ADDR", "ip"}, {"LOCAL_PORT", "named_port", protocol = protocol},
    {"WAIT_LEARN", "bool", default = false},
  }
end
local PATHS = {
  {"FILENAME", "filename", required = true}, {"LOCAL_FILENAME", "filename"},
}
local PLACES = {TCP = inet("tcp"), UDP = inet("udp"), UNIX = PATHS, UNIX_DGRAM = PATHS}
local STREAMS = {TCP = true, UNIX = true}

local Socket = element.define{
  name = "Socket", summary = "exchanges packets with a socket", ports = "0-1/0-1",
  exclusive = true, processing = "a/h", flow = "x/y", emits = true,
  drops = socket_elements.drops, arguments = KEYWORDS,
  usage = "TCP|UDP, ADDR, PORT [, LOCAL_ADDR, LOCAL_PORT, WAIT_LEARN] [, keywords]"
    .. " or UNIX|UNIX_DGRAM, FILENAME [, LOCAL_FILENAME] [, keywords]",
  differs = "A server that has heard of no client yet drops what it is to send. PROPER "
    .. "and HEADROOM have no effect.",
  process = socket_elements.process, task = socket_elements.task,
}

-- Configuring ----------------------------------------------------------------------

-- The address of the other end and our own (nil: any); false if one can't be.
local function find_addresses(self, a)
  if self.family == packet_socket.INET then
    self.remote = packet_socket.inet(wire.word_of(a.ADDR), a.PORT)
    self.any = a.ADDR == 0
    if a.LOCAL_ADDR or a.LOCAL_PORT then
      self.own = packet_socket.inet(wire.word_of(a.LOCAL_ADDR or 0), a.LOCAL_PORT or 0)
    end
    return
  end
  self.remote, self.path = packet_socket.unix(a.FILENAME), a.FILENAME
  if not self.remote then
    return self:error("remote filename '%s' too long", a.FILENAME)
  end
  if a.LOCAL_FILENAME then
    self.own, self.own_path = packet_socket.unix(a.LOCAL_FILENAME), a.LOCAL_FILENAME
    if not self.own then
      return self:error("local filename '%s' too long", a.LOCAL_FILENAME)
    end
  end
end

local function find_table(self, other)
  if other and not other.class.teller then
    return self:error("%s is not an IPRouteTable", other.name)
  end
  return other
end

function Socket:configure_raw(list)
  local kind = text_of.unquote(list[1] or ""):upper()
  local place = PLACES[kind]
  if not place and kind ~= "" then
    return self:error("unknown socket type '%s'", kind)
  end
  local specs = {{"TYPE", "word", required = true}}
  for _, spec in ipairs(place or {}) do specs[#specs + 1] = spec end
  for _, spec in ipairs(KEYWORDS) do specs[#specs + 1] = spec end
  local a = arguments.parse(specs, list, self)
  if not a then return end
  socket_elements.configure(self, a)
  self.kind, self.is_stream = kind, STREAMS[kind] or false
  self.family = place == PATHS and packet_socket.UNIX or packet_socket.INET
  self.no_delay, self.verbose = a.NODELAY and kind == "TCP", a.VERBOSE
  self.allow, self.deny = find_table(self, a.ALLOW), find_table(self, a.DENY)
  find_addresses(self, a)
  self.is_client = a.CLIENT
  if a.CLIENT == nil then self.is_client = self.noutputs == 0 or self.own ~= nil end
  if a.WAIT_LEARN then self.is_client = false end
end

-- Opening --------------------------------------------------------------------------

local function name_of(self, address)
  if self.family == packet_socket.UNIX then return self.path:gsub("^%z", "@") end
  return ("%s:%d"):format(wire.word_text(packet_socket.ip_of(address)),
    packet_socket.port_of(address))
end

local function chat(self, fmt, ...)
  if not self.verbose then return end
  self:remark("%s", fmt:format(...))
end

-- Connect the socket, or let it wait for others; what is wrong, or nil.
local function join(self, socket)
  if not self.is_client then
    local problem = socket:bind(self.remote, self.path)
      or self.is_stream and socket:listen() or nil
    if not problem and self.is_stream then
      chat(self, "listening for connections on %s (%d)", name_of(self, self.remote),
        socket.fd)
    end
    return problem
  end
  local problem = self.own and socket:bind(self.own, self.own_path)
  if problem or not self.is_stream then return problem or nil end
  problem = socket:connect(self.remote)
  if not problem then
    chat(self, "opened connection %d to %s", socket.fd, name_of(self, self.remote))
  end
  return problem
end

function Socket:initialize()
  if not socket_elements.inherits(self) then
    local socket, problem = packet_socket.open(self.family, self.is_stream
      and packet_socket.STREAM or packet_socket.DATAGRAM)
    if not socket then return self:error("%s", problem) end
    self.socket = socket
    problem = self.no_delay and socket:set("TCP_NODELAY", 1)
      or socket_elements.set_buffers(self, socket, socket) or join(self, socket)
    if problem then return self:error("%s", problem) end
    if self.is_client or not self.is_stream then self.receiver = socket end
    if self.is_client then self.sender = socket end
  end
  socket_elements.begin(self)
end

local KEPT = {"socket", "receiver", "sender", "remote", "waiting", "sent"}

function Socket:take_state(old) socket_elements.take(self, old, KEPT) end

function Socket:cleanup()
  socket_elements.finish(self, {"receiver", "socket"})
end

-- Packets --------------------------------------------------------------------------

-- May this address talk to us?
local function is_allowed(self, address)
  if self.is_client or self.family == packet_socket.UNIX then return true end
  local word = packet_socket.ip_of(address)
  if self.allow and self.allow.find(word) >= 0 then return true end
  return not (self.deny and self.deny.find(word) >= 0)
end

--- A server of streams takes the next connection when it has none.
function Socket:prepare()
  if self.receiver or self.is_client or not self.is_stream then return end
  local connection, from = self.socket:accept()
  if not connection then
    if from then self:remark("%s", from) end
    return
  end
  local allowed = is_allowed(self, from)
  chat(self, "%s connection %d from %s", allowed and "opened" or "denied",
    connection.fd, name_of(self, from))
  if not allowed then return connection:close() end
  if self.no_delay then connection:set("TCP_NODELAY", 1) end
  self.receiver, self.sender = connection, connection
  if self.upstream then self:schedule() end
end

--- A server of datagrams answers whoever spoke last.
function Socket:accepts(from)
  if self.is_client or self.is_stream then return true end
  if not is_allowed(self, from) then
    chat(self, "dropped datagram from %s", name_of(self, from))
    return false
  end
  ffi.copy(self.remote, from, ffi.sizeof(from))
  self.sender = self.socket
  if self.upstream then self:schedule() end
  return true
end

function Socket:destination(p)
  if self.is_stream then return nil end
  if self.is_client and self.any then
    packet_socket.set_ip(self.remote, bit.tobit(p.note32[DST_IP]))
  end
  return self.remote
end

--- The other end is gone: a server waits for the next one. A datagram that nobody took
--- is no reason not to send the next.
function Socket:broken(problem)
  if problem then chat(self, "%s", problem) end
  if not self.is_stream then return end
  local connection = self.receiver or self.sender
  chat(self, "closed connection %d", connection.fd)
  connection:close()
  if self.is_client then self.socket = nil end
  self.receiver, self.sender = nil, nil
end

-- FromSocket, ToSocket -------------------------------------------------------------

local function deprecate(self, list)
  self:say("warning: %s is deprecated, use Socket instead", self.class.name)
  return Socket.configure_raw(self, list)
end

local FromSocket = element.define{
  name = "FromSocket", extends = Socket, processing = "h/h", configure_raw = deprecate,
  summary = "receives packets from a socket",
}

local ToSocket = element.define{
  name = "ToSocket", extends = Socket, processing = "l/l", configure_raw = deprecate,
  summary = "sends packets to a socket",
}

return {Socket, FromSocket, ToSocket}
