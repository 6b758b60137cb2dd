-- SPDX-License-Identifier: Apache-2.0
-- ICMP6Error: ICMPv6 errors and redirects about packets (RFC 4443; RFC 4861, section
-- 4.5).

local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local element = require("click.element")
local note = require("click.note")
local packet = require("core.packet")
local wire = require("click.net.wire")

local halves_t, words_t = ffi.typeof("uint16_t *"), ffi.typeof("int32_t *")
local NETWORK, TRANSPORT, TYPE =
  note.NETWORK_HEADER, note.TRANSPORT_HEADER, note.PACKET_TYPE
local HEADER, ICMP, ADDRESS = 40, 8, 16 -- bytes
local NEXT, SOURCE, DESTINATION = 6, 8, 24 -- offsets
local ICMP6, PROTOCOL = 58, 58
local TOO_BIG, PARAMETER_PROBLEM, REDIRECT, LAST_ERROR = 2, 4, 137, 127
local MOST_QUOTED, HOPS, MTU = 568, 255, 1500
local GROUP = 0xff -- an address's first byte

local KNOWN = {[1] = true, [2] = true, [3] = true, [4] = true, [REDIRECT] = true}

local ICMP6Error = element.define{
  name = "ICMP6Error", summary = "generates ICMPv6 error packets",
  arguments = {
    {"SRC", "ip6", required = true}, {"TYPE", "unsigned", required = true},
    {"CODE", "unsigned", required = true, max = 255},
  },
  drops = {"no error for this"},
}

function ICMP6Error:configure(a)
  if not KNOWN[a.TYPE] then
    return self:error("ICMP6 type %d is not an error or redirect type", a.TYPE)
  end
  self.source, self.kind, self.code = a.SRC, a.TYPE, a.CODE
  self.redirects = a.TYPE == REDIRECT
end

-- Does the packet with that header, and so many bytes from it on, get an error (RFC
-- 4443, section 2.4)?
local function deserves(p, ip6, available)
  local kind = p.note16[TYPE]
  if kind == note.BROADCAST or kind == note.MULTICAST then return false end
  if ip6[DESTINATION] == GROUP or ip6[SOURCE] == GROUP then return false end
  if ip6[NEXT] ~= ICMP6 then return true end
  local type = available > HEADER and ip6[HEADER] or 0
  return type > LAST_ERROR and type ~= REDIRECT
end

local function fill(self, p, ip6, icmp)
  ffi.fill(icmp, ICMP)
  icmp[0], icmp[1] = self.kind, self.code
  local words = ffi.cast(words_t, icmp)
  if self.redirects then
    ffi.copy(icmp + ICMP, p.note8 + note.DST_IP6, ADDRESS)
    ffi.copy(icmp + ICMP + ADDRESS, ip6 + DESTINATION, ADDRESS)
  elseif self.kind == TOO_BIG then
    words[1] = wire.word_of(MTU)
  elseif self.kind == PARAMETER_PROBLEM and self.code == 0 then
    words[1] = wire.word_of(p.note8[note.ICMP_PARAMPROB])
  end
end

local function make(self, p, ip6, available)
  local size = self.redirects and ICMP + 2 * ADDRESS or ICMP
  local quoted = math.min(available, MOST_QUOTED)
  local q = packet.allocate()
  note.clear(q)
  q.length = HEADER + size + quoted
  local out = q.data
  local icmp = out + HEADER
  ffi.fill(out, HEADER)
  out[0], out[NEXT], out[7] = 0x60, PROTOCOL, HOPS
  ffi.cast(halves_t, out)[2] = wire.swap16(size + quoted)
  ffi.copy(out + SOURCE, self.source, ADDRESS)
  ffi.copy(out + DESTINATION, ip6 + SOURCE, ADDRESS)
  fill(self, p, ip6, icmp)
  ffi.copy(icmp + size, ip6, quoted)
  ffi.cast(halves_t, icmp)[1] = C.pg_ip6_l4_checksum(out, icmp, size + quoted, PROTOCOL)
  ffi.copy(q.note8 + note.DST_IP6, ip6 + SOURCE, ADDRESS)
  q.note8[note.FIX_IP_SRC] = 1
  q.note16[NETWORK], q.note16[TRANSPORT] = q.data_off, q.data_off + HEADER
  return q
end

function ICMP6Error:process(p)
  local at = p.note16[NETWORK]
  local available = p.data_off + p.length - at
  if at == 0 or available < HEADER then return nil, 1 end
  local ip6 = p.buf_addr + at
  if not deserves(p, ip6, available) then return nil, 1 end
  local q = make(self, p, ip6, available)
  packet.free(p)
  return q
end

return {ICMP6Error}
