-- SPDX-License-Identifier: Apache-2.0
-- GTP-U headers (3GPP TS 29.281, section 5.1), put before packets and taken off.

local bit = require("bit")
local ffi = require("ffi")
local element = require("click.element")
local front = require("click.net.front")
local note = require("click.note")
local wire = require("click.net.wire")

local barrier = wire.barrier
local words_t, halves_t = ffi.typeof("uint32_t *"), ffi.typeof("uint16_t *")
local HEADER, OPTIONAL = 8, 4 -- bytes
local VERSION_1, OPTIONS, GPDU = 0x30, 0x07, 0xff
local AGGREGATE = note.AGGREGATE

local GTPEncap = element.define{
  name = "GTPEncap", summary = "encapsulates packets in GTP headers",
  division = "any", live = true,
  arguments = {{"TEID", "unsigned", required = true}}, drops = {"too long"},
}

function GTPEncap:configure(a)
  self.teid = a.TEID ~= 0 and wire.word_of(a.TEID) or nil
end

-- The tunnel is the aggregate annotation, a number in host order, if it isn't given.
function GTPEncap:process(p)
  if not front.open(p, HEADER) then return nil, 1 end
  local data = p.data
  data[0], data[1] = VERSION_1, GPDU
  ffi.cast(halves_t, data)[1] = wire.swap16(p.length - HEADER)
  ffi.cast(words_t, data)[1] = self.teid or wire.word_of(p.note32[AGGREGATE])
  barrier()
  return p
end

local GTPDecap = element.define{
  name = "GTPDecap", summary = "removes GTP headers", drops = {"too short"},
  division = "any", live = true,
}

function GTPDecap.process(_, p)
  if p.length < HEADER then return nil, 1 end
  local data = p.data
  local size = bit.band(data[0], OPTIONS) ~= 0 and HEADER + OPTIONAL or HEADER
  p.note32[AGGREGATE] = wire.number_of(bit.tobit(ffi.cast(words_t, data)[1]))
  if not front.cut(p, size) then return nil, 1 end
  return p
end

return {GTPEncap, GTPDecap}
