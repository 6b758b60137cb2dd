-- SPDX-License-Identifier: Apache-2.0
-- ICMP6Error: ICMPv6 errors and redirects about packets (RFC 4443; RFC 4861, section
-- 4.5).

local ffi = require("ffi")
local C = require("core.declare")("net/icmp/icmp.h")
local element = require("click.element")
local note = require("click.note")
local packet = require("core.packet")

local NETWORK, TRANSPORT, TYPE =
  note.NETWORK_HEADER, note.TRANSPORT_HEADER, note.PACKET_TYPE
local HEADER, ICMP, ADDRESS = 40, 8, 16 -- bytes
local SOURCE, DESTINATION = 8, 24 -- offsets
local TOO_BIG, PARAMETER_PROBLEM, REDIRECT = 2, 4, 137
local MOST_QUOTED, MTU = 568, 1500

local KNOWN = {[1] = true, [2] = true, [3] = true, [4] = true, [REDIRECT] = true}

local ICMP6Error = element.define{
  name = "ICMP6Error", summary = "generates ICMPv6 error packets",
  division = "any",
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
  self.source = a.SRC
  self.kind = ffi.new("struct icmp_kind", a.TYPE, a.CODE)
  if a.TYPE == TOO_BIG then self.kind.word = MTU end
  self.redirects = a.TYPE == REDIRECT
  self.points = a.TYPE == PARAMETER_PROBLEM and a.CODE == 0
end

-- Does the packet with that header, and so many bytes from it on, get an error?
local function deserves(self, p, ip6, available)
  local type_ = p.note8[TYPE]
  return type_ ~= note.BROADCAST and type_ ~= note.MULTICAST
    and C.pg_icmp6_deserves(ip6, available, self.kind.type, self.kind.code)
end

local function make(self, p, ip6, available)
  local options, quoted = 0, math.min(available, MOST_QUOTED)
  local q = packet.allocate()
  note.clear(q)
  local behind = q.data + HEADER + ICMP
  if self.redirects then
    options = 2 * ADDRESS
    ffi.copy(behind, p.note8 + note.DST_IP6, ADDRESS)
    ffi.copy(behind + ADDRESS, ip6 + DESTINATION, ADDRESS)
  elseif self.points then
    self.kind.word = p.note8[note.ICMP_PARAMPROB]
  end
  q.length = HEADER + ICMP + options + quoted
  C.pg_icmp6_error(q.data, self.source, ip6 + SOURCE, self.kind, options, ip6, quoted)
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
  if not deserves(self, p, ip6, available) then return nil, 1 end
  local q = make(self, p, ip6, available)
  packet.free(p)
  return q
end

return {ICMP6Error}
