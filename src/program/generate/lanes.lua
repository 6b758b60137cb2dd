-- SPDX-License-Identifier: Apache-2.0
-- A lane is a stream in one direction: what it sends, and the names of the apps that
-- send and measure it. M.new lists what it has.

local failure = require("core.failure")
local Meter = require("apps.generate.meter").Meter
local streams = require("program.generate.streams")
local tables = require("core.lib.tables")

local M = {}

local MOST_PLACES = 8

-- Meter.places of the stream; what is wrong begins with the stream's name, if it has
-- one.
local function places_of(stream, name)
  local ok, places = pcall(Meter.places, stream.stack, stream.payload)
  if ok then return places end
  if not failure.is(places) then error(places, 0) end
  failure.usage("%s%s", name and ("stream %s: "):format(name) or "", tostring(places))
end

--- The lane `slot` (from 1) of a direction: {stream, given (its parts as they were
--- said), name, slot (of its links), number (of its records), generator, meter (names
--- of apps), places (where its records are, or were)}; `removed` once nothing more is
--- sent of it. `of` has `suffix`, of the names of its apps, and `back` (is it the
--- second direction, whose streams have other numbers?).
function M.new(slot, stream, given, of)
  local tail = (slot > 1 and "_" .. slot or "") .. of.suffix
  return {
    stream = stream, given = given, name = stream.name, slot = slot,
    number = (slot - 1) % streams.NUMBERS + (of.back and streams.NUMBERS or 0),
    generator = "generator" .. tail, meter = "meter" .. tail,
    places = places_of(stream, stream.name),
  }
end

--- The lane with another stream. Its packets under way have their records where they
--- were.
function M.changed(lane, stream, given)
  local copy = tables.copy(lane)
  copy.stream, copy.given, copy.checked = stream, given, nil
  copy.places = places_of(stream, M.called(lane))
  local known = tables.set_of(copy.places)
  for _, place in ipairs(lane.places) do
    if not known[place] and #copy.places < MOST_PLACES then
      copy.places[#copy.places + 1] = place
    end
  end
  return copy
end

--- What the lane's stream is called, also if it is the only one and has no name.
function M.called(lane) return lane.name or "1" end

--- Those that haven't been removed.
function M.live(list)
  local live = {}
  for _, lane in ipairs(list) do
    if not lane.removed then live[#live + 1] = lane end
  end
  return live
end

--- Is the stream measured where it comes back?
function M.is_measured(lane) return lane.stream.latency ~= "off" end

return M
