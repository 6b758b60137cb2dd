-- SPDX-License-Identifier: Apache-2.0
-- TCPReflector plays a TCP server without any state: each packet that begins with an IP
-- header becomes a plausible answer to itself.

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local element = require("click.element")
local note = require("click.note")
local packet = require("core.packet")
local tcp_flag = require("net.wire.tcp_flag")
local wire = require("click.net.wire")

local band, bor, lshift, rshift, tobit =
  bit.band, bit.bor, bit.lshift, bit.rshift, bit.tobit
local swap16, word_of, number_of = wire.swap16, wire.word_of, wire.number_of
local words_t, halves_t = ffi.typeof("int32_t *"), ffi.typeof("uint16_t *")
local MINIMAL = 20 -- bytes, of either header
local TTL, WINDOW = 250, 60 * 1024
local FIN, SYN, RST, PUSH, ACK =
  tcp_flag.FIN, tcp_flag.SYN, tcp_flag.RST, tcp_flag.PSH, tcp_flag.ACK
local OFFSET, FLAGS = 12, 13 -- of TCP's header
local STEP = 1000000 -- between the peer's first number and ours, without RAND_SEQ
local UNWANTED, SHORT, LONG = 1, 2, 3

local TCPReflector = element.define{
  name = "TCPReflector", summary = "pretends to be a TCP server",
  drops = {"nothing to answer", "too short for TCP", "too long"}, reads = {},
  arguments = {
    {"DATA", "data", default = "", keyword = true},
    {"STRIP_PAYLOAD", "bool", default = false, keyword = true},
    {"RAND_SEQ", "bool", default = true, keyword = true},
  },
}

function TCPReflector:configure(a)
  if #a.DATA > packet.max_payload - 2 * MINIMAL then
    return self:error("DATA: %d bytes are too many for a packet", #a.DATA)
  end
  self.data, self.strip, self.random = a.DATA, a.STRIP_PAYLOAD, a.RAND_SEQ
end

local function first_number(self, theirs)
  if not self.random then return theirs + STEP end
  return math.random(0, 0xffff) * 65536 + math.random(0, 0xffff)
end

-- The answer's flags, and both of its numbers; nil if there is nothing to answer.
local function answer(self, flags, number, acknowledged, n)
  if flags == SYN then return bor(SYN, ACK), first_number(self, number), number + 1 end
  if band(flags, bor(SYN, RST)) ~= 0 then return nil end
  if band(flags, FIN) ~= 0 then return bor(ACK, FIN), acknowledged, number + n + 1 end
  if n > 0 then return ACK, acknowledged, number + n end
end

-- Swap addresses and ports.
local function turn(p, ip, tcp)
  local words, ports = ffi.cast(words_t, ip), ffi.cast(words_t, tcp)
  words[3], words[4] = words[4], words[3]
  ports[0] = bit.ror(ports[0], 16)
  p.note32[note.DST_IP] = words[4]
end

-- Put the server's data behind the headers, which end there. False if there is no room.
local function write_data(self, p, behind)
  if behind + #self.data > packet.max_payload then return false end
  p.length = behind + #self.data
  ffi.copy(p.data + behind, self.data, #self.data)
  return true
end

local function write_sums(p, ip, header)
  local halves, tcp = ffi.cast(halves_t, ip), ip + header
  halves[1], halves[5] = swap16(p.length), 0
  halves[5] = C.pg_checksum_word(ip, header)
  local sums = ffi.cast(halves_t, tcp)
  sums[8] = 0
  sums[8] = C.pg_ip4_l4_checksum(ip, tcp, p.length - header)
  wire.barrier()
end

function TCPReflector:process(p)
  local n, ip = p.length, p.data
  if n < 2 * MINIMAL then return nil, SHORT end
  local header = lshift(band(ip[0], 15), 2)
  if header < MINIMAL or header + MINIMAL > n then return nil, SHORT end
  local tcp = ip + header
  local behind = header + lshift(rshift(tcp[OFFSET], 4), 2)
  if behind < header + MINIMAL or behind > n then return nil, SHORT end
  local words = ffi.cast(words_t, tcp)
  local flags, number, acknowledged = answer(self, band(tcp[FLAGS], 0xff - PUSH),
    number_of(words[1]), number_of(words[2]), n - behind)
  if not flags then return nil, UNWANTED end
  if n > behind and #self.data > 0 then
    if not write_data(self, p, behind) then return nil, LONG end
    flags = bor(flags, FIN)
  elseif n > behind and self.strip then
    p.length = behind
  end
  words[1], words[2] = word_of(tobit(number)), word_of(tobit(acknowledged))
  tcp[FLAGS], ip[8] = flags, TTL
  ffi.cast(halves_t, tcp)[7] = swap16(WINDOW)
  turn(p, ip, tcp)
  write_sums(p, ip, header)
  return p
end

return {TCPReflector}
