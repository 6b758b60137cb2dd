-- SPDX-License-Identifier: Apache-2.0
-- Elements that set fields of IPv4 headers, and the checksum.

local bit = require("bit")
local checksum = require("net.checksum.checksum")
local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local element = require("click.element")
local ip_header = require("click.net.ip_header")
local keywords = require("click.router.keywords")
local note = require("click.note")
local wire = require("click.net.wire")

local barrier, header_of = wire.barrier, ip_header.begin
local band, bor, lshift = bit.band, bit.bor, bit.lshift
local halves_t = ffi.typeof("uint16_t *")
local NETWORK = note.NETWORK_HEADER
local MINIMAL = 20
local TOS, CHECKSUM = 1, 5 -- the checksum is a half
local ECN, DSCP = 0x03, 0xfc -- bits of the TOS (RFC 2474, RFC 3168)
local CONGESTION = 3
local NO_HEADER = "no IP header"

-- Set the TOS, and keep the checksum right.
local function set_tos(ip, tos)
  local halves = ffi.cast(halves_t, ip)
  local before = halves[0]
  ip[TOS] = tos
  halves[CHECKSUM] = checksum.update16(halves[CHECKSUM], before, halves[0])
  barrier()
end

-- Let the class set the bits of the TOS that aren't `kept`, to self.bits.
local function set_bits(class, kept)
  function class:process(p)
    local ip = header_of(p)
    if not ip then return nil, 1 end
    set_tos(ip, bor(band(ip[TOS], kept), self.bits))
    return p
  end
end

-- SetIPDSCP ------------------------------------------------------------------------

local SetIPDSCP = element.define{
  name = "SetIPDSCP", live = true, summary = "sets IP packets' DSCP fields",
  division = "any",
  arguments = {{"DSCP", "unsigned", required = true}}, drops = {NO_HEADER},
}

function SetIPDSCP:configure(a)
  if a.DSCP > 0x3f then return self:error("diffserv code point out of range") end
  self.bits = lshift(a.DSCP, 2)
end

SetIPDSCP.handlers = {dscp = keywords.handler("DSCP", 1)}

set_bits(SetIPDSCP, ECN)

-- SetIPECN -------------------------------------------------------------------------

local SetIPECN = element.define{
  name = "SetIPECN", live = true, summary = "sets IP packets' ECN fields",
  division = "any",
  arguments = {{"ECN", "argument", required = true}}, drops = {NO_HEADER},
}

local ECN_WORDS = {
  ["0"] = 0, no = 0, ["-"] = 0, ["1"] = 1, ect1 = 1, ["ECT(1)"] = 1, ["2"] = 2,
  ect2 = 2, ["ECT(0)"] = 2, ["3"] = 3, ce = 3, CE = 3,
}

function SetIPECN:configure(a)
  local ecn = ECN_WORDS[a.ECN]
  if not ecn then return self:error("bad ECN argument") end
  self.bits = ecn
end

SetIPECN.handlers = {ecn = keywords.handler("ECN", 1)}

set_bits(SetIPECN, DSCP)

-- MarkIPCE -------------------------------------------------------------------------

local MarkIPCE = element.define{
  name = "MarkIPCE", summary = "sets IP packets' ECN field to Congestion Experienced",
  division = "any",
  arguments = {{"FORCE", "bool", default = false}},
  drops = {NO_HEADER, "not ECN-capable"},
}

function MarkIPCE:configure(a) self.force, self.bad = a.FORCE, 0 end

function MarkIPCE:process(p)
  local ip = header_of(p)
  if not ip then return nil, 1 end
  local ecn = band(ip[TOS], ECN)
  if ecn == 0 and not self.force then
    self.bad = self.bad + 1
    return nil, 2
  end
  if ecn ~= CONGESTION then set_tos(ip, bor(ip[TOS], CONGESTION)) end
  return p
end

MarkIPCE.handlers = {drops = {read = function (e) return ("%d"):format(e.bad) end}}

-- SetIPChecksum --------------------------------------------------------------------

local SetIPChecksum = element.define{
  name = "SetIPChecksum", summary = "sets IP packets' checksums",
  division = "any",
  drops = {"bad IP header"},
}

function SetIPChecksum:configure() self.bad = 0 end

local function drop(e)
  e.bad = e.bad + 1
  if e.bad == 1 then e:say("%s: bad input packet", e.class.name) end
  return nil, 1
end

-- Where no header is known, the packet begins with it.
function SetIPChecksum:process(p)
  local at, limit = p.note16[NETWORK], p.data_off + p.length
  if at == 0 then at = p.data_off end
  if at + MINIMAL <= limit then
    local ip = p.buf_addr + at
    local header = lshift(band(ip[0], 15), 2)
    if header >= MINIMAL and at + header <= limit then
      local halves = ffi.cast(halves_t, ip)
      halves[CHECKSUM] = 0
      halves[CHECKSUM] = C.pg_checksum_word(ip, header)
      return p
    end
  end
  local q, o = drop(self)
  return q, o
end

SetIPChecksum.handlers = {drops = {read = function (e) return ("%d"):format(e.bad) end}}

return {SetIPDSCP, SetIPECN, MarkIPCE, SetIPChecksum}
