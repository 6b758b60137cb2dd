-- SPDX-License-Identifier: Apache-2.0
-- IPEncap: puts an IPv4 header before packets.

local bit = require("bit")
local checksum = require("net.checksum.checksum")
local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local element = require("click.element")
local front = require("click.net.front")
local keywords = require("click.router.keywords")
local note = require("click.note")
local types = require("click.arguments").types
local wire = require("click.net.wire")
require("click.classification.ip.named")

local barrier = wire.barrier
local band, bor, lshift, rshift, tobit =
  bit.band, bit.bor, bit.lshift, bit.rshift, bit.tobit
local open, swap16 = front.open, wire.swap16
local words_t, halves_t = ffi.typeof("int32_t *"), ffi.typeof("uint16_t *")
local NETWORK, TRANSPORT, DST_IP =
  note.NETWORK_HEADER, note.TRANSPORT_HEADER, note.DST_IP
local HEADER = 20
local BYTE, MOST_DSCP = 255, 63
local ECT1, ECT2, CONGESTION, DONT_FRAGMENT = 1, 2, 3, 0x4000
local FROM_NOTE = "DST_ANNO"

local IPEncap = element.define{
  name = "IPEncap", live = true, summary = "encapsulates packets in static IP header",
  division = "any", readdresses = true,
  arguments = {
    {"PROTO", "ip_proto", required = true}, {"SRC", "ip", required = true},
    {"DST", "argument", required = true},
    {"TOS", "int", keyword = true}, {"DSCP", "int", keyword = true},
    {"TTL", "unsigned", default = 250, max = BYTE, keyword = true},
    {"ECT", "word", keyword = true}, {"CE", "bool", default = false, keyword = true},
    {"DF", "bool", default = false, keyword = true},
  },
  drops = {"too long"},
}

local function ecn_of(text)
  if not text then return 0 end
  local is_set = types.bool(text)
  if is_set ~= nil then return is_set and ECT1 or 0 end
  return text == "2" and ECT2 or nil
end

-- The TOS that the arguments ask for; or nil, and what is wrong.
local function tos_of(a)
  local ect = ecn_of(a.ECT)
  if not ect then return nil, ("bad ECT value '%s'"):format(a.ECT) end
  if a.TOS and a.DSCP then return nil, "cannot set both TOS and DSCP" end
  if a.TOS and (ect > 0 or a.CE) then return nil, "cannot set both TOS and ECN bits" end
  if a.TOS and (a.TOS < 0 or a.TOS > BYTE) then return nil, "TOS too large; max 255" end
  if a.DSCP and (a.DSCP < 0 or a.DSCP > MOST_DSCP) then
    return nil, "DSCP too large; max 63"
  end
  if ect > 0 and a.CE then return nil, "can set at most one ECN option" end
  return bor(a.TOS or lshift(a.DSCP or 0, 2), ect, a.CE and CONGESTION or 0)
end

function IPEncap:configure(a)
  local destination = 0
  if a.DST ~= FROM_NOTE then destination = types.ip(a.DST, {}, self) end
  if not destination then
    return self:error("DST argument should be IP address or 'DST_ANNO'")
  end
  local tos, problem = tos_of(a)
  if not tos then return self:error(problem) end
  local header = ffi.new("uint8_t[20]")
  local words, halves = ffi.cast(words_t, header), ffi.cast(halves_t, header)
  header[0], header[1], header[8], header[9] = 0x45, tos, a.TTL, a.PROTO
  halves[3] = a.DF and swap16(DONT_FRAGMENT) or 0
  words[3], words[4] = wire.word_of(a.SRC), wire.word_of(destination)
  self.from_note = a.DST == FROM_NOTE
  -- The sum of all but length, identification, and maybe the destination.
  self.sum = 0xffff - C.pg_checksum_word(header, HEADER)
  self.first, self.flags, self.life = halves[0], halves[3], halves[4]
  self.source, self.destination = words[3], words[4]
  self.id = self.id or 0
end

IPEncap.handlers = {
  src = keywords.handler("SRC", 2, function (e) return wire.word_text(e.source) end),
  dst = keywords.handler("DST", 3, function (e)
    return e.from_note and FROM_NOTE or wire.word_text(e.destination)
  end),
}

function IPEncap:process(p)
  if not open(p, HEADER) then return nil, 1 end
  local ip, id, at, n = p.data, self.id, p.data_off, p.note16
  local words, halves = ffi.cast(words_t, ip), ffi.cast(halves_t, ip)
  local destination = self.destination
  if self.from_note then destination = tobit(p.note32[DST_IP])
  else p.note32[DST_IP] = destination end
  self.id = band(id + 1, 0xffff)
  local length, number = swap16(p.length), swap16(id)
  local sum = tobit(self.sum + length + number)
  if self.from_note then
    sum = tobit(sum + band(destination, 0xffff) + rshift(destination, 16))
  end
  halves[0], halves[1], halves[2], halves[3] = self.first, length, number, self.flags
  halves[4], halves[5] = self.life, checksum.fold(sum)
  words[3], words[4] = self.source, destination
  barrier()
  n[NETWORK], n[TRANSPORT] = at, at + HEADER
  return p
end

-- IPNameInfo -----------------------------------------------------------------------

-- The names of protocols, ports and ICMP messages are known without it.
local IPNameInfo = element.define{
  name = "IPNameInfo", summary = "stores names for IP protocols and ports",
  ports = "0/0", division = "any",
}

return {IPEncap, IPNameInfo}
