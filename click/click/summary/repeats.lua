-- SPDX-License-Identifier: Apache-2.0
-- Packets that stand for several (their annotation has a number of extra packets), one
-- by one: their lengths and times are spread evenly.

local bit = require("bit")
local ffi = require("ffi")

local note = require("click.note")
local packet = require("core.packet")

local Repeats = {}
Repeats.__index = Repeats

local EXTRA, LENGTH = note.EXTRA_PACKETS, note.EXTRA_LENGTH
local STAMP = note.TIMESTAMP
local UDP = 17

local int64 = ffi.typeof("int64_t")

--- Without `times`, all have the time of the last.
function Repeats.new(times) return setmetatable({times = times, left = 0}, Repeats) end

-- The IP packet is `length` bytes long, and so its headers say.
local function set_length(p, length)
  local net = p.note16[note.NETWORK_HEADER] - p.data_off
  local transport = p.note16[note.TRANSPORT_HEADER] - p.data_off
  if net < 0 or net + 20 > p.length then return end
  local function half(at, value)
    p.data[at], p.data[at + 1] = bit.rshift(value, 8), bit.band(value, 255)
  end
  half(net + 2, length - net)
  if p.data[net + 9] == UDP and transport + 6 <= p.length then
    half(transport + 4, length - transport)
  end
end

local function begin_times(self, p, count)
  local first, last = int64(p.note64[note.FIRST_TIMESTAMP]), int64(p.note64[STAMP])
  self.last, self.step = last, int64(0)
  if not self.times or first == 0 or first > last then return end
  self.step = (last - first) / (count - 1)
  p.note64[STAMP] = first
end

--- Begin with packet `p`: returns the first packet to send, and next() the others.
function Repeats:begin(p)
  local count = 1 + p.note16[EXTRA]
  if count == 1 then return p end
  local total = p.length + p.note32[LENGTH]
  self.each = math.max(math.floor(total / count), p.length)
  self.final = math.max(total - self.each * (count - 1), p.length)
  begin_times(self, p, count)
  self.p, self.left = p, count
  p.note16[EXTRA] = 0
  return self:next()
end

--- The next of the packets; nil if there is none.
function Repeats:next()
  if self.left == 0 then return nil end
  self.left = self.left - 1
  local p = self.p
  local length = self.left == 0 and self.final or self.each
  p.note32[LENGTH] = length - p.length
  set_length(p, length)
  if self.left == 0 then
    p.note64[STAMP] = self.last
    self.p = nil
    return p
  end
  local copy = note.clone(p)
  p.note64[STAMP] = int64(p.note64[STAMP]) + self.step
  return copy
end

--- Free what hasn't been sent.
function Repeats:free()
  if self.p then packet.free(self.p) end
  self.p, self.left = nil, 0
end

return Repeats
