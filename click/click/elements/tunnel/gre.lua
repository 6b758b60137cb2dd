-- SPDX-License-Identifier: Apache-2.0
-- GRE headers (RFC 2784; RFC 2890 for keys and sequence numbers), put before packets
-- and taken off.

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local element = require("click.element")
local front = require("click.net.front")
local wire = require("click.net.wire")

local barrier = wire.barrier
local halves_t, words_t = ffi.typeof("uint16_t *"), ffi.typeof("int32_t *")
local HEADER, OPTION, MOST = 4, 4, 16 -- bytes
local CHECKSUM, KEY, SEQUENCE = 0x80, 0x20, 0x10 -- flags, in the first byte

-- GREEncap -------------------------------------------------------------------------

local GREEncap = element.define{
  name = "GREEncap", summary = "encapsulates packets in static GRE header",
  arguments = {
    {"PROTOCOL", "unsigned", required = true, max = 0xffff},
    {"CHECKSUM", "bool", default = false, keyword = true},
    {"KEY", "unsigned", default = 0, keyword = true},
    {"SEQUENCE", "bool", default = false, keyword = true},
  },
  drops = {"too long"}, reads = {}, lengthens = function (self) return self.size end,
}

function GREEncap:configure(a)
  local header, size = ffi.new("uint8_t[?]", MOST), HEADER -- [?]: see doc/jit.md
  local function option(flag, value)
    header[0] = bit.bor(header[0], flag)
    ffi.cast(words_t, header + size)[0] = wire.word_of(value)
    size = size + OPTION
  end
  ffi.cast(halves_t, header)[1] = wire.swap16(a.PROTOCOL)
  if a.CHECKSUM then option(CHECKSUM, 0) end
  if a.KEY ~= 0 then option(KEY, a.KEY) end
  if a.SEQUENCE then
    self.number_at, self.number = size, 0
    option(SEQUENCE, 0)
  end
  self.header, self.size, self.sum = header, size, a.CHECKSUM
end

-- The next sequence number; the first is 1.
local function count(self)
  self.number = bit.tobit(self.number + 1)
  ffi.cast(words_t, self.header + self.number_at)[0] = wire.word_of(self.number)
end

function GREEncap:process(p)
  local size = self.size
  if not front.open(p, size) then return nil, 1 end
  if self.number then count(self) end
  ffi.copy(p.data, self.header, size)
  if self.sum then
    ffi.cast(halves_t, p.data)[HEADER / 2] = C.pg_checksum_word(p.data, p.length)
    barrier()
  end
  return p
end

-- StripGREHeader -------------------------------------------------------------------

local StripGREHeader = element.define{
  name = "StripGREHeader", summary = "strips the outermost GRE header",
  division = "any",
  drops = {"too short"}, reads = {},
}

function StripGREHeader.process(_, p)
  if p.length < HEADER then return nil, 1 end
  local flags, size = p.data[0], HEADER
  if bit.band(flags, CHECKSUM) ~= 0 then size = size + OPTION end
  if bit.band(flags, KEY) ~= 0 then size = size + OPTION end
  if bit.band(flags, SEQUENCE) ~= 0 then size = size + OPTION end
  if not front.cut(p, size) then return nil, 1 end
  return p
end

return {GREEncap, StripGREHeader}
