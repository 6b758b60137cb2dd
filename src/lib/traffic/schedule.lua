-- SPDX-License-Identifier: Apache-2.0
-- When packets are due: one time after the other, each a gap behind the one before, and
-- never counted from when a packet was in fact sent, so that no error adds up.

local ffi = require("ffi")
local random = require("lib.traffic.random")
local rate = require("lib.traffic.rate")

local M = {}

--- What was missed while the rate couldn't be kept is made up for, up to this much.
M.CATCH_UP_S = 0.1

-- All times are seconds since the schedule began. Doubles resolve a nanosecond for
-- half a year.
ffi.cdef[[
struct perigee_schedule {
  double due;      /* of the next packet */
  double gap;      /* between packets, or for each bit on the wire; 0: no rate */
  double skipped;  /* of the schedule that was given up, in all */
  double latest;   /* the most a packet was sent behind its time */
  bool bits, poisson;
  struct perigee_random random;
};
]]

--- A new schedule: `wanted` as from lib.traffic.rate (nil: as fast as it goes),
--- `arrivals` "constant" or "poisson" (gaps with an exponential distribution, the same
--- mean, and the seed `seed`).
function M.new(wanted, arrivals, seed)
  local s = ffi.new("struct perigee_schedule")
  if wanted then s.gap = 1 / (wanted.packets or wanted.bits) end
  s.bits = wanted ~= nil and wanted.bits ~= nil
  s.poisson = arrivals == "poisson"
  random.seed(s.random, seed or 1)
  return s
end

--- Begin a burst at `now` (seconds since the schedule began). False if no packet is
--- due; else send one and `advance`, over and over as long as `due` isn't after `now`.
function M.begin(s, now)
  local late = now - s.due
  if late < 0 then return false end
  if s.gap == 0 then return true end
  if late > s.latest then s.latest = late end
  if late > M.CATCH_UP_S then
    s.skipped = s.skipped + late - M.CATCH_UP_S
    s.due = now - M.CATCH_UP_S
  end
  return true
end

--- Go on to the packet behind one of `size` bytes.
function M.advance(s, size)
  local gap = s.gap
  if s.bits then gap = gap * rate.wire_bits(size) end
  if s.poisson then gap = gap * random.exponential(s.random) end
  s.due = s.due + gap
end

return M
