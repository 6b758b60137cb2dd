-- SPDX-License-Identifier: Apache-2.0
-- How often the push calls of a breath are made: again while ports give full bursts, so
-- that what a breath costs by itself counts for less; and not for empty links, where an
-- app says so. And when a breath follows another at once.

local ffi = require("ffi")
local pool = require("core.pool")

local repush = {}

-- Breaths in a row (core.engine.breath) -----------------------------------------

local FEW_PACKETS = 64

local packets = ffi.cast("struct freelist *", pool.freelist) -- a pointer is a constant
local ended = ffi.new("uint64_t[1]") -- packets that had come to their end

--- Has this breath moved a packet, and few? Then another may follow at once.
function repush.moved_few()
  local now = packets.frees + packets.sent + packets.handed
  local moved = now - ended[0]
  ended[0] = now
  return moved - 1 < FEW_PACKETS
end

--- Nothing follows in this row: what an app has asked for is done after the breath.
function repush.end_row() ended[0] = ended[0] - bit.lshift(1ULL, 32) end

-- Calls in a breath ---------------------------------------------------------------

--- How often at most.
repush.MOST = 4
local MOST = repush.MOST

-- Did one of the ports (struct port) give a full burst the last time?
local function any_full(ports)
  for i = 1, #ports do
    if ports[i].full ~= 0 then return true end
  end
  return false
end

--- Call push(calls, first) with the push calls of a breath again while one of their
--- `ports` (core.engine.order) gives full bursts.
function repush.again(push, calls, first)
  for _ = 2, MOST do
    if not any_full(calls.ports) then return end
    push(calls, first)
  end
end
local again = repush.again

--- Call it, and again if they have a list of such ports.
function repush.make(push, calls, first)
  push(calls, first)
  if calls.ports then again(push, calls, first) end
end

--- push(app, link) of an app that needs packets (class.needs_packets): not for a link
--- that has none, but while the app's field `restless` is true.
function repush.push_waiting(app, l)
  if l.write ~= l.read or l.nhanded > 0 or app.restless then app:push(l) end
end

return repush
