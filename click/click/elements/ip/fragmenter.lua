-- SPDX-License-Identifier: Apache-2.0
-- IPFragmenter: cuts IPv4 packets that are longer than the MTU into fragments
-- (net/fragment).

local bit = require("bit")
local C = require("core.declare")("native/ip.h")
local chance = require("click.chance")
local cutter = require("net.fragment.cut")
local element = require("click.element")
local note = require("click.note")
local read16 = require("net.wire.bytes").read16

local band, lshift, tobit = bit.band, bit.lshift, bit.tobit
local NETWORK = note.NETWORK_HEADER
local MINIMAL, UNIT = 20, 8 -- bytes
local FLAGS, ID = 6, 4
local DONT_FRAGMENT = 0x40
local FIRST_TOLD = 5 -- packets that can't be cut

local IPFragmenter = element.define{
  name = "IPFragmenter", summary = "fragments large IP packets", emits = true,
  division = "any",
  ports = "1/1-2", processing = "h/h",
  arguments = {
    {"MTU", "unsigned", required = true}, {"HONOR_DF", "bool", default = true},
    {"VERBOSE", "bool", default = false},
    {"HEADROOM", "unsigned", keyword = true, max = tonumber(C.PACKET_MAX_HEADROOM),
     default = tonumber(C.PACKET_HEADROOM)},
  },
  drops = {"must not be fragmented", "bad IP header"}, reads = {"NETWORK_HEADER"},
}

function IPFragmenter:configure(a)
  if a.MTU < UNIT then return self:error("MTU must be at least 8") end
  self.mtu, self.honor_df, self.verbose, self.headroom =
    a.MTU, a.HONOR_DF, a.VERBOSE, a.HEADROOM
  self.fragments, self.uncut = 0, 0
  self.rest = cutter.room() -- fragments but the first, within one call
end

local function refuse(self, p)
  if self.verbose or self.uncut < FIRST_TOLD then
    self:say("IPFragmenter(%d) DF: %d bytes", self.mtu, p.length)
  end
  self.uncut = self.uncut + 1
  if self.noutputs == 2 then return p, 2 end
  return nil, 1
end

-- Who ignores DF can't rely on the packet's identification, either.
local function forget_flag(ip)
  ip[FLAGS] = band(ip[FLAGS], 0xff - DONT_FRAGMENT)
  local id = chance.word()
  ip[ID], ip[ID + 1] = band(id, 0xff), band(bit.rshift(id, 8), 0xff)
end

-- Send all but the last of so many packets out.
local function emit_most(self, rest, n)
  for i = 0, n - 2 do self.emit(1, rest[i]) end
end

local function cut(self, p, ip)
  if band(ip[FLAGS], DONT_FRAGMENT) ~= 0 then forget_flag(ip) end
  local rest = self.rest
  local n = cutter.ip4(p, p.note16[NETWORK], 0, self.mtu, true, self.headroom, rest)
  C.pg_ip4_fragment_notes(p, rest, n, self.headroom)
  self.fragments = self.fragments + n + 1
  local last = rest[n - 1]
  self.emit(1, p)
  if n > 1 then emit_most(self, rest, n) end
  return last
end

local function fragment(self, p, at, limit)
  local ip = p.buf_addr + at
  local header = lshift(band(ip[0], 15), 2)
  local total = read16(ip + 2)
  if header < MINIMAL or total < header or at + total > limit then return nil, 2 end
  if total <= self.mtu then return p end -- it is just followed by something
  local room = self.mtu - header
  if room < UNIT or self.honor_df and band(ip[FLAGS], DONT_FRAGMENT) ~= 0 then
    local q, o = refuse(self, p)
    return q, o
  end
  local q, o = cut(self, p, ip)
  return q, o
end

function IPFragmenter:process(p)
  local at, limit = p.note16[NETWORK], p.data_off + p.length
  if limit - at <= self.mtu then return p end
  if at == 0 or at + MINIMAL > limit then return nil, 2 end
  local q, o = fragment(self, p, at, limit)
  return q, o
end

function IPFragmenter:make_process()
  local mtu = self.mtu
  return function (_, p)
    local at, limit = p.note16[NETWORK], tobit(p.data_off + p.length)
    if tobit(limit - at) <= mtu then return p end
    if at == 0 or at + MINIMAL > limit then return nil, 2 end
    local q, o = fragment(self, p, at, limit)
    return q, o
  end
end

IPFragmenter.handlers = {
  drops = {read = function (e) return ("%d"):format(e.uncut) end},
  fragments = {read = function (e) return ("%d"):format(e.fragments) end},
}

return {IPFragmenter}
