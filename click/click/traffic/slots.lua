-- SPDX-License-Identifier: Apache-2.0
-- Where a schedule (net.rate.schedule) of Click's begins: the packets, or bytes, of a
-- second of the time of day have slots in it, one for each of the rate, and the first
-- packet takes the slot that has begun (as lib/gaprate.cc counts).

local schedule = require("net.rate.schedule")

local slots = {}

local MICROSECONDS = 1e6 -- a second; Click counts in whole ones
local ROUNDING = 0.5 / MICROSECONDS -- a slot that begins now has begun

--- Let a schedule of so many a second begin now, on the router's steady clock.
function slots.restart(times, router, rate)
  local passed = math.floor(router:now() % 1 * MICROSECONDS + 0.5) -- of this second
  local slot = math.floor(passed * rate / MICROSECONDS)
  local late = passed / MICROSECONDS - slot / rate
  schedule.restart(times, router:steady() - late - ROUNDING)
end

return slots
