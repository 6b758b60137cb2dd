-- SPDX-License-Identifier: Apache-2.0
-- A router's way in and its way out as one element each: the same as chains of other
-- elements.

local bit = require("bit")
local ffi = require("ffi")
require("core.declare")("native/ip.h")
local element = require("click.element")
local CheckIPHeader = require("click.elements.ip.check_header")[1]
local forward = require("click.elements.ip.forward")
local front = require("click.net.front")
local note = require("click.note")
local wire = require("click.net.wire")

local tobit = bit.tobit
local DecIPTTL, FixIPSrc, IPGWOptions = forward[1], forward[2], forward[3]
local check, decrement, fix = CheckIPHeader.check, DecIPTTL.decrement, FixIPSrc.fix
local see_to_options, cut = IPGWOptions.see_to_options, front.cut
local members = require("click.net.members")
local NETWORK, PAINT, TYPE = note.NETWORK_HEADER, note.PAINT, note.PACKET_TYPE
local BROADCAST, MULTICAST = note.BROADCAST, note.MULTICAST
local ETHERNET = 14 -- bytes
local barrier = wire.barrier

-- IPInputCombo: Paint, Strip, CheckIPHeader ----------------------------------------

local IPInputCombo = element.define{
  name = "IPInputCombo", summary = "input combo for IP routing",
  division = "any",
  arguments = {
    {"COLOR", "unsigned", required = true, max = 255},
    {"BADSRC*", "ip", list = true},
    {"INTERFACES", "ip_prefix", list = true, bare = true, keyword = true},
    {"BADSRC", "ip", list = true, keyword = true},
    {"GOODDST", "ip", list = true, keyword = true},
  },
  drops = {"bad IP header"},
}

local ALL = 2 ^ 32 - 1

function IPInputCombo:configure(a)
  local bad = {}
  for _, address in ipairs(a["BADSRC*"] or {}) do bad[#bad + 1] = address end
  if a["BADSRC*"] then bad[#bad + 1], bad[#bad + 2] = 0, ALL end
  for _, address in ipairs(a.BADSRC or {}) do bad[#bad + 1] = address end
  local bad_words, good_words =
    CheckIPHeader.address_lists(a.INTERFACES, bad, a.GOODDST)
  self.is_bad, self.is_good = members.of(bad_words), members.of(good_words)
  self.color, self.bad = a.COLOR, 0
end

local function drop(e)
  if e.bad == 0 then e:say("IP checksum failed") end
  e.bad = e.bad + 1
  return nil, 1
end

function IPInputCombo:process(p)
  p.note8[PAINT] = self.color
  if not cut(p, ETHERNET) or check(p, 0, true, self.is_bad, self.is_good) then
    local q, o = drop(self)
    return q, o
  end
  return p
end

function IPInputCombo:make_process()
  local color, is_bad, is_good = self.color, self.is_bad, self.is_good
  return function (_, p)
    p.note8[PAINT] = color
    if not cut(p, ETHERNET) or check(p, 0, true, is_bad, is_good) then
      local q, o = drop(self)
      return q, o
    end
    return p
  end
end

IPInputCombo.handlers = {
  drops = {read = function (e) return ("%d"):format(e.bad) end},
}

-- IPOutputCombo: DropBroadcasts, PaintTee, IPGWOptions, FixIPSrc, DecIPTTL, and
-- CheckLength ----------------------------------------------------------------------

local IPOutputCombo = element.define{
  name = "IPOutputCombo", summary = "output combo for IP routing", emits = true,
  division = "any",
  ports = "1/5", processing = "h/h",
  arguments = {
    {"COLOR", "int", required = true}, {"IPADDR", "ip", required = true},
    {"MTU", "unsigned", required = true},
  },
  drops = {"broadcast", "bad IP header"},
}
local REDIRECT, BAD_OPTION, EXPIRED, TOO_LONG = 2, 3, 4, 5 -- outputs

function IPOutputCombo:configure(a)
  self.color, self.word, self.mtu = a.COLOR, wire.word_of(a.IPADDR), a.MTU
  self.gateway = ffi.new("struct ip4_gateway")
  self.gateway.address = self.word
end

function IPOutputCombo:make_process()
  local color, mtu, word = self.color, self.mtu, self.word
  local gateway, router = self.gateway, self.router
  return function (_, p)
    local kind = p.note8[TYPE]
    if kind == BROADCAST or kind == MULTICAST then return nil, 1 end
    if p.note8[PAINT] == color then self.emit(REDIRECT, front.clone(p)) end
    local problem = see_to_options(p, gateway, router)
    if problem then
      if problem < 0 then return nil, 2 end
      p.note8[note.ICMP_PARAMPROB] = problem
      return p, BAD_OPTION
    end
    if p.note8[note.FIX_IP_SRC] ~= 0 and not fix(p, word) then return nil, 2 end
    if not decrement(p.buf_addr + p.note16[NETWORK]) then return p, EXPIRED end
    barrier()
    if tobit(p.length) > mtu then return p, TOO_LONG end
    return p
  end
end

return {IPInputCombo, IPOutputCombo}
