-- SPDX-License-Identifier: Apache-2.0
-- ICMPPingSource: sends ICMP echo requests, and reports the replies that come in, as
-- ping(1) does.

local ffi = require("ffi")
require("core.declare")("native/ip.h")
local element = require("click.element")
local front = require("click.net.front")
local icmp_echo = require("click.net.icmp_echo")
local note = require("click.note")
local packet = require("core.packet")
local read16 = require("net.wire.bytes").read16
local types = require("click.arguments").types
local wire = require("click.net.wire")

local halves_t, int64 = ffi.typeof("uint16_t *"), ffi.typeof("int64_t")
local NETWORK, TRANSPORT, TIMESTAMP =
  note.NETWORK_HEADER, note.TRANSPORT_HEADER, note.TIMESTAMP
local MINIMAL, HEADER = 20, 8 -- bytes
local PROTOCOL, TTL, ICMP, ECHO, REPLY = 9, 8, 1, 8, 0
local REQUEST_TTL, NUMBERS = 200, 0xffff
local MOST_DATA = packet.max_payload - MINIMAL - HEADER

local ICMPPingSource = element.define{
  name = "ICMPPingSource", aliases = {"ICMPSendPings"},
  division = "none", undivided = "it makes packets itself, in one row",
  summary = "periodically sends ICMP echo requests",
  ports = "0-1/1", processing = "h/a", flow = "x/y", emits = true,
  arguments = {
    {"SRC", "ip", required = true}, {"DST", "ip", required = true},
    {"INTERVAL", "seconds", default = 1, keyword = true},
    {"IDENTIFIER", "unsigned", default = 0, keyword = true, max = 0xffff},
    {"DATA", "data", default = "", keyword = true},
    {"LIMIT", "int", default = -1, keyword = true},
    {"ACTIVE", "bool", default = true, keyword = true},
    {"VERBOSE", "bool", default = true, keyword = true},
    {"STOP", "bool", default = false, keyword = true},
    {"MIRROR", "bool", default = false, keyword = true},
  },
}

function ICMPPingSource:configure(a)
  self.source, self.destination = wire.word_of(a.SRC), wire.word_of(a.DST)
  self.interval, self.identifier, self.data = a.INTERVAL, a.IDENTIFIER, a.DATA
  self.limit, self.active, self.verbose = a.LIMIT, a.ACTIVE, a.VERBOSE
  self.stops, self.mirror = a.STOP, a.MIRROR
  self.count = 0
  if #a.DATA > MOST_DATA then
    return self:error("DATA is too long: there is room for %d bytes", MOST_DATA)
  end
  if a.INTERVAL < 0.001 then self:warning("INTERVAL so small that it is zero") end
end

local function forget(self)
  self.received, self.duplicates, self.total, self.squares = 0, 0, 0, 0
  self.sent = {} -- when, in nanoseconds, by number; less than 0: it was answered
end

local function is_pull(self)
  local is_settled = type(self.processing) == "table"
  return is_settled and not self:is_pushing()
end

function ICMPPingSource:initialize()
  forget(self)
  self.timer = self.router:timer(function () self:tick_timer() end)
  self.pulled = is_pull(self)
  if self.pulled and self.mirror then
    return self:error("MIRROR invalid on pull element")
  end
  if self.active and self.limit ~= 0 and not self.pulled then
    self.timer:after(self.interval)
  end
end

-- Make the packet, whose IP header and ICMP header are to be written, the next one.
local function finish(self, p)
  local id = self.count % NUMBERS + 1
  local message = p.data + MINIMAL
  ffi.fill(message, HEADER)
  message[0] = ECHO
  icmp_echo.number(message, self.identifier, id)
  icmp_echo.finish(p, self.source, self.destination, id, REQUEST_TTL)
  local now = self.router:nanoseconds()
  p.note64[TIMESTAMP] = now
  if self.ninputs > 0 then self.sent[id] = int64(now) end
  self.count = self.count + 1
  return p
end

local function make(self)
  local p = packet.resize(packet.allocate(), MINIMAL + HEADER)
  note.clear(p)
  packet.append(p, self.data, #self.data)
  return finish(self, p)
end

local function has_more(self) return self.limit < 0 or self.count < self.limit end

function ICMPPingSource:tick_timer()
  if has_more(self) then
    self.emit(1, make(self))
    self.timer:again(self.interval)
  elseif self.stops then
    self.router:stop()
  end
end

function ICMPPingSource:pull()
  if has_more(self) then return make(self) end
  if self.stops then
    self.stops = false
    self.router:stop()
  end
end

-- Replies --------------------------------------------------------------------------

local function account(self, microseconds)
  local first = self.received == 0
  self.least = first and microseconds or math.min(self.least, microseconds)
  self.most = first and microseconds or math.max(self.most, microseconds)
  self.total = self.total + microseconds
  self.squares = self.squares + microseconds * microseconds
end

local function tell(self, ip, id, microseconds)
  local total, header = read16(ip + 2), ip[0] % 16 * 4
  self:remark("%d bytes from %d.%d.%d.%d: icmp_seq=%d ttl=%d time=%d.%03d ms",
    total - header - HEADER, ip[12], ip[13], ip[14], ip[15], id, ip[TTL],
    microseconds / 1000, microseconds % 1000)
end

local function take_reply(self, p, ip, id)
  local sent = self.sent[id]
  if not sent then return end
  if sent < 0 then
    self.duplicates = self.duplicates + 1
    sent = -sent
  end
  local came, microseconds = int64(p.note64[TIMESTAMP]), 0
  if came ~= 0 then
    microseconds = math.max(tonumber((came - sent) / 1000), 0)
    account(self, microseconds)
  end
  self.received = self.received + 1
  self.sent[id] = -sent
  if self.verbose then tell(self, ip, id, microseconds) end
end

-- The reply becomes the next request.
local function mirror(self, p, at)
  if at > p.data_off then front.cut(p, at - p.data_off) end
  return finish(self, p)
end

function ICMPPingSource:process(p)
  local at, behind = p.note16[NETWORK], p.note16[TRANSPORT]
  local limit = p.data_off + p.length
  if at ~= 0 and at + MINIMAL <= limit and behind >= at + MINIMAL
    and behind + HEADER <= limit then
    local ip, message = p.buf_addr + at, p.buf_addr + behind
    local halves = ffi.cast(halves_t, message)
    if ip[PROTOCOL] == ICMP and message[0] == REPLY
      and wire.swap16(halves[2]) == self.identifier then
      take_reply(self, p, ip, wire.swap16(halves[3]))
      if self.mirror then return mirror(self, p, at) end
    end
  end
  packet.free(p)
  return false
end

-- Handlers -------------------------------------------------------------------------

local function milliseconds(us) return ("%d.%03d"):format(us / 1000, us % 1000) end

local function summary(e)
  local text = ("%d packets transmitted, %d received"):format(e.count,
    e.received - e.duplicates)
  if e.duplicates > 0 then text = text .. (", +%d duplicates"):format(e.duplicates) end
  if e.count > 0 then
    local lost = e.count - e.received - e.duplicates
    text = text .. (", %d%% packet loss\n"):format(lost * 100 / e.count)
  end
  if e.received > 0 then
    local average = e.total / e.received
    local deviation = math.sqrt(math.max(e.squares / e.received - average * average, 0))
    text = text .. ("rtt min/avg/max/mdev = %s/%s/%s/%s\n"):format(
      milliseconds(e.least), milliseconds(average), milliseconds(e.most),
      milliseconds(deviation))
  end
  return text
end

function ICMPPingSource:cleanup()
  if self.ninputs > 0 and self.verbose and self.sent then
    for line in summary(self):gmatch("[^\n]+") do
      self:remark("%s", line)
    end
  end
end

local function go_on(e, after)
  if has_more(e) and e.active and not e.pulled and not e.timer:scheduled() then
    e.timer:after(after)
  end
end

local address = icmp_echo.address_handler

local function seconds(of)
  return {read = function (e) return ("%.6f"):format((of(e) or 0) / 1e6) end}
end

ICMPPingSource.handlers = {
  src = address("source"), dst = address("destination"), summary = {read = summary},
  count = {read = function (e) return ("%d"):format(e.count) end},
  rtt_min = seconds(function (e) return e.least end),
  rtt_max = seconds(function (e) return e.most end),
  rtt_avg = seconds(function (e) return e.total / math.max(e.received, 1) end),
  active = {
    read = function (e) return tostring(e.active) end,
    write = function (e, text)
      local value = types.bool(text)
      if value == nil then return "type mismatch" end
      e.active = value
      if not value then e.timer:unschedule() end
      go_on(e, 0)
    end,
  },
  limit = {write = function (e, text)
    local value = types.int(text, {})
    if not value then return "'limit' should be integer" end
    e.limit = value
    go_on(e, e.interval)
  end},
  interval = {write = function (e, text)
    local value = types.seconds(text, {})
    if not value then return "'interval' should be an interval" end
    e.interval = value
  end},
  reset_counts = {write = function (e)
    e.count = 0
    forget(e)
    go_on(e, e.interval)
  end},
}

return {ICMPPingSource}
