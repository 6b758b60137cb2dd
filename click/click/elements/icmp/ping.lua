-- SPDX-License-Identifier: Apache-2.0
-- ICMP echoes answered, and ICMP headers put before packets (RFC 792).

local checksum = require("net.checksum.checksum")
local ffi = require("ffi")
local echo = require("net.icmp.echo")
local element = require("click.element")
local front = require("click.net.front")
local icmp_echo = require("click.net.icmp_echo")
local named = require("click.classification.ip.named")
local note = require("click.note")
local wire = require("click.net.wire")

local reject = element.reject
local barrier = wire.barrier
local words_t, halves_t = ffi.typeof("int32_t *"), ffi.typeof("uint16_t *")
local NETWORK, TRANSPORT, DST_IP =
  note.NETWORK_HEADER, note.TRANSPORT_HEADER, note.DST_IP
local MINIMAL, HEADER = 20, 8 -- bytes
local PROTOCOL, TTL = 9, 8
local ICMP, ECHO = 1, 8
local SUM, FRAGMENT, LIFE_AND_PROTOCOL = 5, 3, 4 -- halves of an IP header
local MOST_TTL = 255

-- ICMPPingResponder ----------------------------------------------------------------

local ICMPPingResponder = element.define{
  name = "ICMPPingResponder", summary = "responds to ICMP echo requests",
  division = "any",
  ports = "1/1-2", processing = "a/ah", drops = {"no echo request"},
}

-- A half becomes another one: keep the checksum at `index` right.
local function update(halves, index, before, after)
  halves[index] = checksum.update16(halves[index], before, after)
end

local function answer(p, ip, message, size)
  local words, halves = ffi.cast(words_t, ip), ffi.cast(halves_t, ip)
  local asker = words[3]
  words[3], words[4] = words[4], asker
  update(halves, SUM, halves[FRAGMENT], 0)
  halves[FRAGMENT] = 0
  local before = halves[LIFE_AND_PROTOCOL]
  ip[TTL] = MOST_TTL
  update(halves, SUM, before, halves[LIFE_AND_PROTOCOL])
  p.note32[DST_IP] = asker
  p.note8[note.PAINT] = 0
  barrier()
  echo.reply4(message, size)
  barrier()
end

function ICMPPingResponder:process(p)
  local at, behind = p.note16[NETWORK], p.note16[TRANSPORT]
  local limit = p.data_off + p.length
  if at ~= 0 and at + MINIMAL <= limit and behind >= at + MINIMAL
    and behind + HEADER <= limit then
    local ip, message = p.buf_addr + at, p.buf_addr + behind
    if ip[PROTOCOL] == ICMP and message[0] == ECHO then
      answer(p, ip, message, limit - behind)
      p.note64[note.TIMESTAMP] = self.router:nanoseconds()
      return p
    end
  end
  local q, o = reject(self, p)
  return q, o
end

-- ICMPIPEncap, ICMPPingEncap -------------------------------------------------------

local address = icmp_echo.address_handler
local ENCAP_HANDLERS = {src = address("source"), dst = address("destination")}

local function set_addresses(e, a)
  e.source, e.destination = wire.word_of(a.SRC), wire.word_of(a.DST)
  e.identifier, e.id = a.IDENTIFIER, 1
end

local ICMPIPEncap = element.define{
  name = "ICMPIPEncap", summary = "encapsulates packets in ICMP/IP headers",
  arguments = {
    {"SRC", "ip", required = true}, {"DST", "ip", required = true},
    {"TYPE", "icmp_type", required = true}, {"CODE", "word", default = "0"},
    {"IDENTIFIER", "unsigned", default = 0, keyword = true, max = 0xffff},
  },
  handlers = ENCAP_HANDLERS, drops = {"too long"},
}

local TIMESTAMP, TIMESTAMP_REPLY = 13, 14
local SEQUENCED = {[0] = true, [8] = true, [13] = true, [14] = true, [15] = true,
                   [16] = true}

function ICMPIPEncap:configure(a)
  local code = named.icmp_code(a.TYPE, a.CODE)
  if not code then return self:error("invalid CODE") end
  set_addresses(self, a)
  self.kind, self.code, self.sequenced = a.TYPE, code, SEQUENCED[a.TYPE] or false
  self.size = (a.TYPE == TIMESTAMP or a.TYPE == TIMESTAMP_REPLY) and 20 or HEADER
end

function ICMPIPEncap:process(p)
  local size = self.size
  if not front.open(p, MINIMAL + size) then return nil, 1 end
  local message = p.data + MINIMAL
  ffi.fill(message, size)
  message[0], message[1] = self.kind, self.code
  local id = self.id
  if self.sequenced then icmp_echo.number(message, self.identifier, id) end
  icmp_echo.finish(p, self.source, self.destination, id, icmp_echo.ENCAP_TTL)
  self.id = id == 0xffff and 1 or id + 1
  return p
end

local ICMPPingEncap = element.define{
  name = "ICMPPingEncap", extends = ICMPIPEncap,
  summary = "encapsulates packets in ICMP ping headers",
  arguments = {
    {"SRC", "ip", required = true}, {"DST", "ip", required = true},
    {"IDENTIFIER", "unsigned", default = 0, keyword = true, max = 0xffff},
  },
}

function ICMPPingEncap:configure(a)
  set_addresses(self, a)
  self.kind, self.code, self.sequenced, self.size = ECHO, 0, true, HEADER
end

return {ICMPPingResponder, ICMPIPEncap, ICMPPingEncap}
