-- SPDX-License-Identifier: Apache-2.0
-- StoreAnno and PushAnno write annotations into packets.

local element = require("click.element")
local ffi = require("ffi")
local front = require("click.net.front")
local note = require("click.note")

local FIRST, BYTES = note.FIRST, note.BYTES

-- StoreAnno --------------------------------------------------------------------------

local StoreAnno = element.define{
  name = "StoreAnno", summary = "stores a byte of the annotations in packets",
  arguments = {
    {"OFFSET", "unsigned", required = true},
    {"ANNO", "anno", size = 1, default = note.PAINT - FIRST},
    {"GROW", "bool", default = false, keyword = true,
      meaning = "changes nothing, as in FastClick: shorter packets pass as they are"},
  },
  reads = function (self) return {{self.at - FIRST, 1}} end,
}

function StoreAnno:configure(a) self.offset, self.at = a.OFFSET, FIRST + a.ANNO end

function StoreAnno:process(p)
  if p.length > self.offset then p.data[self.offset] = p.note8[self.at] end
  return p
end

-- PushAnno ---------------------------------------------------------------------------

local PushAnno = element.define{
  name = "PushAnno", summary = "puts the annotations, 48 bytes, in front of packets",
  drops = {"too long"}, lengthens = BYTES,
}

function PushAnno.process(_, p)
  if not front.open(p, BYTES) then return nil, 1 end
  ffi.copy(p.data, p.note8 + FIRST, BYTES)
  return p
end

return {StoreAnno, PushAnno}
