-- SPDX-License-Identifier: Apache-2.0
-- TimeRange looks at packets' timestamps, StoreTimestamp writes them into packets.

local element = require("click.element")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")
local wire = require("click.net.wire")

local TIMESTAMP, BYTES = note.TIMESTAMP, 8
local int64, time_pointer = ffi.typeof("int64_t"), ffi.typeof("int64_t *")

-- TimeRange --------------------------------------------------------------------------

local function reset(self) self.first, self.last, self.any = 0LL, 0LL, false end

local function time_of(field)
  return {read = function (self) return note.time_text(self[field]) end}
end

local TimeRange = element.define{
  name = "TimeRange", summary = "notes the earliest and the latest timestamp",
  reads = {"TIMESTAMP"}, lengthens = 0,
  arguments = {{"SIMPLE", "bool", default = false, keyword = true}},
  notes = "With SIMPLE true the last packet's timestamp counts as the latest.",
  handlers = {
    first = time_of("first"), last = time_of("last"), reset = element.command(reset),
    range = {read = function (self)
      return note.time_text(self.first) .. " " .. note.time_text(self.last)
    end},
    interval = {read = function (self)
      return note.time_text(self.last - self.first)
    end},
  },
}

function TimeRange:configure(a)
  self.simple = a.SIMPLE
  reset(self)
end

function TimeRange:process(p)
  local time = int64(p.note64[TIMESTAMP])
  if not self.any then
    self.first, self.last, self.any = time, time, true
  elseif self.simple or time > self.last then
    self.last = time
  elseif time < self.first then
    self.first = time
  end
  return p
end

function TimeRange:take_state(old)
  self.first, self.last, self.any = old.first, old.last, old.any
end

-- StoreTimestamp ---------------------------------------------------------------------

local StoreTimestamp = element.define{
  name = "StoreTimestamp", summary = "writes packets' timestamps into them",
  division = "any", reads = {"TIMESTAMP"}, drops = {"too long"},
  arguments = {
    {"OFFSET", "int", default = -1, max = packet.max_payload - BYTES},
    {"TAIL", "bool", default = false, keyword = true},
  },
  notes = "Eight bytes in the CPU's order, nanoseconds since 1970: from OFFSET on, of "
    .. "a packet that is made as long as that takes, or, with TAIL true, behind it.",
}

function StoreTimestamp:configure(a)
  if (a.OFFSET >= 0) == a.TAIL then
    return self:error("supply exactly one of 'OFFSET' and 'TAIL'")
  end
  self.offset = a.OFFSET
end

function StoreTimestamp:process(p)
  local at, length = self.offset, p.length
  if at < 0 then at = length end
  local ends = at + BYTES
  if ends > packet.max_payload then return nil, 1 end
  if ends > length then
    ffi.fill(p.data + length, ends - length)
    p.length = ends
  end
  ffi.cast(time_pointer, p.data + at)[0] = p.note64[TIMESTAMP]
  wire.barrier()
  return p
end

return {TimeRange, StoreTimestamp}
