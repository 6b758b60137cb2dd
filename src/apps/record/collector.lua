-- SPDX-License-Identifier: Apache-2.0
-- Flows that have ended as IPFIX messages to a collector, over UDP (RFC 7011): an
-- exporter of net.metering.meter. UDP says little of what arrives: what can't be sent,
-- and what the collector's host refuses, is counted.

local errno = require("posix.errno")
local ffi = require("ffi")
local socket = require("posix.sys.socket")
local unistd = require("posix.unistd")
local bytes = require("net.wire.bytes")
local failure = require("core.failure")
local ipfix = require("lib.stack.body.ipfix")
local log = require("core.lib.log")
local meter = require("net.metering.meter")

ffi.cdef [[
  ssize_t perigee_send(int fd, const void *data, size_t n, int flags) __asm__("send");
  ssize_t perigee_recv(int fd, void *data, size_t n, int flags) __asm__("recv");
]]

local C = meter.native

local collector = {}

local PORT = "4739"               -- RFC 7011, section 10.3.4
local TEMPLATES_EVERY_S = 20      -- nobody says whether they have come (section 8.4)
local FLOWS_WAIT_S = 1            -- at most, until there are enough for a message
local MOST = 1400                 -- bytes of a message: no fragments (section 10.3.3)
local HEADER, SET_HEADER = 16, 4  -- sections 3.1 and 3.3.2
local DOMAIN = 1
local DONT_WAIT, NO_SIGNAL = 0x40, 0x4000 -- <sys/socket.h>
local PACED, PAUSE_S = 16, 0.001  -- at the end: messages between pauses

-- What templates say of data records, as pg_meter_ipfix writes them: element and bytes
-- (IANA, IP Flow Information Export Entities).
local function template(source, destination, address)
  local list = {}
  local function add(id, length) list[#list + 1] = {id = id, length = length} end
  add(source, address)
  add(destination, address)
  add(7, 2)   -- sourceTransportPort
  add(11, 2)  -- destinationTransportPort
  add(4, 1)   -- protocolIdentifier
  add(60, 1)  -- ipVersion
  add(6, 1)   -- tcpControlBits
  add(136, 1) -- flowEndReason
  add(10, 4)  -- ingressInterface
  add(58, 2)  -- vlanId, which collectors look for
  add(243, 2) -- dot1qVlanId
  add(245, 2) -- dot1qCustomerVlanId
  add(2, 8)   -- packetDeltaCount
  add(1, 8)   -- octetDeltaCount
  add(152, 8) -- flowStartMilliseconds
  add(153, 8) -- flowEndMilliseconds
  return list
end

local TEMPLATES = {
  [4] = {id = 256, template = template(8, 12, 4)},
  [6] = {id = 257, template = template(27, 28, 16)},
}
for _, t in pairs(TEMPLATES) do t.length = ipfix:getRecordLength(t.template) end

local Collector = {}
Collector.__index = Collector

-- The socket ----------------------------------------------------------------------

local function parts(text)
  local host, port = text:match("^%[(.-)%]:(%d+)$")
  if not host then host, port = text:match("^%[(.-)%]$"), PORT end
  if not host then host, port = text:match("^([^:]+):(%d+)$") end
  if not host then host, port = text:match("^([^:]+)$"), PORT end
  if not host or not port or tonumber(port) < 1 or tonumber(port) > 65535 then
    return nil
  end
  return host, port
end

--- Converter of a command line: HOST, HOST:PORT, [IPV6]:PORT.
function collector.address(text)
  if parts(text) then return text end
  return nil, ("'%s' isn't a collector such as 192.0.2.1:4739 or [2001:db8::1]:4739")
    :format(text)
end

local function connect(text)
  local host, port = parts(text)
  local list, problem = socket.getaddrinfo(host, port,
    {family = socket.AF_UNSPEC, socktype = socket.SOCK_DGRAM})
  if not list then
    failure.usage("the collector '%s' can't be found: %s", text, problem)
  end
  for _, address in ipairs(list) do
    local fd = socket.socket(address.family, socket.SOCK_DGRAM, 0)
    local ok
    if fd then ok, problem = socket.connect(fd, address) end
    if ok == 0 then return fd end
    if fd then unistd.close(fd) end
  end
  failure.raise("the collector '%s' can't be reached: %s", text, problem)
end

-- Messages ------------------------------------------------------------------------

--- A collector at this address (a text, as address() takes it).
function collector.new(address)
  local self = setmetatable({to = address, fd = connect(address), sequence = 0,
    messages = 0, flows = 0, unsent = 0, refused = 0, templates_due = -math.huge,
    due = 0, buffers = {}}, Collector)
  for version in pairs(TEMPLATES) do
    self.buffers[version] = {at = ffi.new("uint8_t[?]", MOST), used = 0, count = 0}
  end
  return self
end

local function warn(self, number)
  if self.warned then return end
  self.warned = true
  log.warning("the collector %s: %s; flows that are lost are counted as far as they "
    .. "can be", self.to, (errno.errno(number)))
end

-- An error may be what became of an earlier message (ICMP): then this one can be sent.
local function send(self, at, n)
  local flags = DONT_WAIT + NO_SIGNAL
  for try = 1, 2 do
    if ffi.C.perigee_send(self.fd, at, n, flags) >= 0 then return true end
    local number = ffi.errno()
    warn(self, number)
    if number ~= errno.ECONNREFUSED then return false end
    if try == 1 then self.refused = self.refused + 1 end
  end
  return false
end

-- RFC 7011, section 3.1: sequence numbers count data records, sent or not.
local function send_message(self, at, n, records)
  bytes.write16(at, 10)
  bytes.write16(at + 2, n)
  bytes.write32(at + 4, os.time())
  bytes.write32(at + 8, self.sequence)
  bytes.write32(at + 12, DOMAIN)
  self.sequence = (self.sequence + records) % 2^32
  if send(self, at, n) then
    self.messages, self.flows = self.messages + 1, self.flows + records
  else
    self.unsent = self.unsent + records
  end
  if self.paced and self.messages % PACED == 0 then C.pg_sleep(PAUSE_S) end
end

local function send_templates(self, now)
  local at, n = ffi.new("uint8_t[?]", MOST), HEADER
  for _, version in ipairs{4, 6} do
    local t = TEMPLATES[version]
    n = ipfix:copyTo(at, n, ipfix:createTmplSet(t.id, t.template), MOST)
  end
  send_message(self, at, n, 0)
  self.templates_due = now + TEMPLATES_EVERY_S
end

local function send_buffer(self, version)
  local b = self.buffers[version]
  if b.count == 0 then return end
  bytes.write16(b.at + HEADER, TEMPLATES[version].id)
  bytes.write16(b.at + HEADER + 2, b.used - HEADER)
  send_message(self, b.at, b.used, b.count)
  b.used, b.count = 0, 0
end

--- Send the n records (struct meter_ended *), as soon as they fill a message.
function Collector:put(records, n)
  for i = 0, n - 1 do
    local version = records[i].key.version
    local b = self.buffers[version]
    if b.count == 0 then b.used = HEADER + SET_HEADER end
    b.used = b.used + C.pg_meter_ipfix(records + i, b.at + b.used)
    b.count = b.count + 1
    if b.used + TEMPLATES[version].length > MOST then
      if self.templates_due < 0 then send_templates(self, 0) end
      send_buffer(self, version)
    end
  end
end

--- Send what has waited, and templates again: `now` in seconds.
function Collector:work(now)
  if now >= self.templates_due then send_templates(self, now) end
  if now < self.due then return end
  self.due = now + FLOWS_WAIT_S
  send_buffer(self, 4)
  send_buffer(self, 6)
end

--- Send all, and close the socket.
function Collector:finish()
  if not self.fd then return end
  if self.templates_due < 0 then send_templates(self, 0) end
  send_buffer(self, 4)
  send_buffer(self, 6)
  local got = ffi.C.perigee_recv(self.fd, ffi.new("char[1]"), 1, DONT_WAIT)
  if got < 0 and ffi.errno() == errno.ECONNREFUSED then
    self.refused = self.refused + 1
    warn(self, errno.ECONNREFUSED)
  end
  unistd.close(self.fd)
  self.fd = nil
end

--- From now on many flows come at once: make pauses, so that the collector can follow.
function Collector:pace() self.paced = true end

--- What became of flows: `sent`, in `messages`; `unsent`; and `refused`, messages that
--- the collector's host has refused.
function Collector:told()
  return {to = self.to, messages = self.messages, sent = self.flows,
    unsent = self.unsent, refused = self.refused}
end

return collector
