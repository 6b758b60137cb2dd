-- SPDX-License-Identifier: Apache-2.0
-- When packets are due: one time after the other, each a gap behind the one before,
-- and never counted from when a packet was in fact sent, so that no error adds up.
-- Times are seconds on any clock that doesn't go back.

local ffi = require("ffi")

local M = {}

--- What generators make up for, in seconds: a busy machine takes the CPU away for so
--- long.
M.CATCH_UP_S = 0.1

ffi.cdef[[
struct perigee_schedule {
  double due;      /* of the next packet */
  double catch_up; /* lateness that is made up for */
  double skipped;  /* of the schedule that was given up, in all */
  double latest;   /* the most a packet was sent behind its time */
};
]]

--- A schedule whose first packet is due at 0 (see `restart`). It makes up for up to
--- `catch_up` seconds (default: CATCH_UP_S) in which packets were due and not sent.
function M.new(catch_up)
  return ffi.new("struct perigee_schedule", {catch_up = catch_up or M.CATCH_UP_S})
end

--- The next packet is due at `now`, whatever was missed: at the beginning, after a
--- pause that was wanted, and at another rate.
function M.restart(s, now)
  s.skipped = s.skipped + now - s.due
  s.due = now
end

--- Begin a burst at `now`. False if no packet is due; else send one and `advance`, over
--- and over as long as `due` isn't after `now`.
function M.begin(s, now)
  local late = now - s.due
  if late < 0 then return false end
  if late > s.latest then s.latest = late end
  if late > s.catch_up then
    s.skipped = s.skipped + late - s.catch_up
    s.due = now - s.catch_up
  end
  return true
end

--- Go on to the packet that is due `gap` seconds later.
function M.advance(s, gap)
  s.due = s.due + gap
end

return M
