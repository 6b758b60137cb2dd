-- SPDX-License-Identifier: Apache-2.0
-- Elements that note a color, a time or a type of packets, or look at what is noted.

local element = require("click.element")
local ffi = require("ffi")
local note = require("click.note")
local live_annotations = require("click.router.live_annotations")

local FIRST = note.FIRST
local PAINT, PAINT2 = note.PAINT - FIRST, note.PAINT2 * 2 - FIRST

local function color_arguments(size, default)
  return {
    {"COLOR", "unsigned", required = true, max = 256 ^ size - 1},
    {"ANNO", "anno", size = size, default = default},
  }
end

local COLOR = {color = element.data("color", "unsigned")}

-- Paint --------------------------------------------------------------------

local Paint = element.define{
  name = "Paint", summary = "notes a color of packets",
  division = "any", live = true,
  arguments = color_arguments(1, PAINT), handlers = COLOR, reads = {}, lengthens = 0,
}

function Paint:configure(a) self.color, self.at = a.COLOR, FIRST + a.ANNO end

function Paint:process(p)
  p.note8[self.at] = self.color
  return p
end

function Paint:make_process()
  local at, color = self.at, self.color
  return function (_, p)
    p.note8[at] = color
    return p
  end
end

local Paint2 = element.define{
  name = "Paint2", summary = "notes a color of 16 bits",
  division = "any", live = true,
  arguments = color_arguments(2, PAINT2), handlers = COLOR,
}

function Paint2:configure(a)
  if a.ANNO % 2 ~= 0 then return self:error("ANNO: must be even") end
  self.color, self.at = a.COLOR, (FIRST + a.ANNO) / 2
end

function Paint2:process(p)
  p.note16[self.at] = self.color
  return p
end

-- The color that it looks at.
local function own_note(self) return {{self.at - FIRST, 1}} end

local CheckPaint = element.define{
  name = "CheckPaint", summary = "passes packets of one color", extends = Paint,
  live = false, -- what it looks at is settled at the start
  ports = "1/1-2", processing = "a/ah", drops = {"other color"}, reads = own_note,
}

function CheckPaint:process(p)
  if p.note8[self.at] == self.color then return p end
  if self.noutputs > 1 then return p, 2 end
  return nil, 1
end

function CheckPaint:make_process()
  local at, color, both = self.at, self.color, self.noutputs > 1
  return function (_, p)
    if p.note8[at] == color then return p end
    if both then return p, 2 end
    return nil, 1
  end
end

local PaintTee = element.define{
  name = "PaintTee", summary = "passes packets, and copies those of one color",
  live = false, extends = Paint,
  ports = "1/2", processing = "a/ah", emits = true, reads = own_note,
}

function PaintTee:process(p)
  if p.note8[self.at] == self.color then self.emit(2, note.clone(p)) end
  return p
end

function PaintTee:make_process()
  local at, color, copier = self.at, self.color, live_annotations.copier(self.router)
  return function (_, p)
    if p.note8[at] == color then self.emit(2, note.clone(p, copier)) end
    return p
  end
end

local SetAnnoByte = element.define{
  name = "SetAnnoByte", summary = "sets a byte of a packet's annotations",
  division = "any", live = true,
  arguments = {
    {"ANNO", "anno", size = 1, required = true},
    {"VALUE", "unsigned", required = true, max = 255},
  },
  handlers = {anno = element.data("anno"), value = element.data("color", "unsigned")},
}

function SetAnnoByte:configure(a)
  self.anno, self.at, self.color = a.ANNO, FIRST + a.ANNO, a.VALUE
end

SetAnnoByte.process = Paint.process

-- The packet's type --------------------------------------------------------

local TYPES = {HOST = note.HOST, BROADCAST = note.BROADCAST, OUTGOING = note.OUTGOING,
               MULTICAST = note.MULTICAST, OTHERHOST = note.OTHERHOST,
               LOOPBACK = note.LOOPBACK}

local SetPacketType = element.define{
  name = "SetPacketType", summary = "notes to whom a packet is sent",
  division = "any", live = true,
  arguments = {{"TYPE", "word", required = true}},
}

function SetPacketType:configure(a)
  local kind = TYPES[a.TYPE:upper()]
  if not kind then return self:error("unrecognized packet type '%s'", a.TYPE) end
  self.type = kind
end

local PACKET_TYPE = note.PACKET_TYPE

function SetPacketType:process(p)
  p.note8[PACKET_TYPE] = self.type
  return p
end

-- Timestamps ---------------------------------------------------------------

local TIMESTAMP, FIRST_TIMESTAMP = note.TIMESTAMP, note.FIRST_TIMESTAMP

local SetTimestamp = element.define{
  name = "SetTimestamp", summary = "notes the time",
  division = "any",
  arguments = {
    {"TIMESTAMP", "argument"},
    {"FIRST", "bool", default = false, keyword = true},
    {"DELTA", "bool", default = false, keyword = true},
    {"PER_BATCH", "bool", default = false, keyword = true},
  },
}

function SetTimestamp:configure(a)
  if a.DELTA then
    return self:error(
      "SetTimestamp(DELTA) is deprecated, use SetTimestampDelta(TYPE FIRST)")
  end
  self.at = a.FIRST and FIRST_TIMESTAMP or TIMESTAMP
  self.time = a.TIMESTAMP and note.parse_time(a.TIMESTAMP)
  if a.TIMESTAMP and not self.time then
    return self:error("TIMESTAMP: expected timestamp")
  end
  self.per_turn = a.PER_BATCH
end

function SetTimestamp:process(p)
  p.note64[self.at] = self.time or self.router:nanoseconds()
  return p
end

local AdjustTimestamp = element.define{
  name = "AdjustTimestamp", summary = "adds to packets' timestamps",
  arguments = {
    {"TIME", "argument", default = "0"},
    {"FIRST", "bool", default = false, keyword = true},
    {"ALL", "bool", default = false, keyword = true},
  },
}

function AdjustTimestamp:configure(a)
  self.delta = note.parse_time(a.TIME)
  if not self.delta then return self:error("TIME: expected timestamp") end
  self.at, self.all = a.FIRST and FIRST_TIMESTAMP or TIMESTAMP, a.ALL
end

AdjustTimestamp.handlers.time = {
  read = function (self) return note.time_text(self.delta) end,
  write = function (self, text)
    local delta = note.parse_time(text)
    if not delta then return "expected timestamp" end
    self.delta = delta
  end,
}

local int64 = ffi.typeof("int64_t")

function AdjustTimestamp:process(p)
  local notes, at = p.note64, self.at
  if self.all or notes[at] ~= 0 then notes[at] = int64(notes[at]) + self.delta end
  return p
end

local SetTimestampDelta = element.define{
  name = "SetTimestampDelta", summary = "turns timestamps into differences",
  arguments = {{"TYPE", "word", default = "RANGE", keyword = true}},
  handlers = {
    first = {read = function (self) return note.time_text(self.earliest or 0) end},
    reset = element.command(function (self) self.earliest = nil end),
  },
}

local DELTAS = {
  RANGE = function (self, time)
    self.earliest = self.earliest or time
    return time - self.earliest
  end,
  NOW = function (self, time) return self.router:nanoseconds() - time end,
  FIRST = function (_, time, p) return time - int64(p.note64[FIRST_TIMESTAMP]) end,
}

function SetTimestampDelta:configure(a)
  self.delta = DELTAS[a.TYPE]
  if not self.delta then self:error("bad TYPE") end
end

function SetTimestampDelta:process(p)
  local time = int64(p.note64[TIMESTAMP])
  if time ~= 0 then p.note64[TIMESTAMP] = self:delta(time, p) end
  return p
end

return {Paint, Paint2, CheckPaint, PaintTee, SetAnnoByte, SetPacketType, SetTimestamp,
        AdjustTimestamp, SetTimestampDelta}
