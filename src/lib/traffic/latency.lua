-- SPDX-License-Identifier: Apache-2.0
-- A histogram of latencies in nanoseconds whose buckets are a fixed share of the value
-- (as in HdrHistogram): 1 ns wide up to 2,048 ns, then four times as wide for values
-- four times as large, so at most 0.2 % of the value, up to 8.5 s. (core.histogram has
-- 509 buckets: 3.7 % each over the same span.)

local ffi = require("ffi")

local floor = math.floor

local M = {}

local TIERS = 12
local TIER_BUCKETS = 2048
local GROWTH = 4
local BUCKETS = TIERS * TIER_BUCKETS

--- Values from here on, in ns, are counted as this.
M.LONGEST = TIER_BUCKETS * GROWTH ^ (TIERS - 1)

--- Half a bucket as a share of the value: how far a percentile may be off.
M.ERROR = GROWTH / TIER_BUCKETS / 2

ffi.cdef(([[
struct perigee_latency {
  double count, sum, least, greatest;
  uint32_t buckets[%d];
};
]]):format(BUCKETS))

--- A new histogram, empty.
function M.new()
  return ffi.new("struct perigee_latency", {least = math.huge})
end

-- The tier of a value by value / TIER_BUCKETS, up to that of 6 tiers; and what a value
-- is divided by in each. Tables instead of a loop: the JIT compiler can't unroll one.
local HALF = 6
local HALF_SPAN = GROWTH ^ HALF
local tier_of = ffi.new("uint8_t[?]", HALF_SPAN)
local scale = ffi.new("double[?]", TIERS)
for tier = 0, TIERS - 1 do scale[tier] = GROWTH ^ -tier end
for n = 1, HALF_SPAN - 1 do
  tier_of[n] = tier_of[floor(n / GROWTH)] + 1
end

local function bucket_above(value)
  if value >= M.LONGEST then return BUCKETS - 1 end
  local n, tier = floor(value / TIER_BUCKETS), 0
  if n >= HALF_SPAN then n, tier = floor(n / HALF_SPAN), HALF end
  tier = tier + tier_of[n]
  return tier * TIER_BUCKETS + floor(value * scale[tier])
end

--- Count a latency of `value` nanoseconds, at least 0.
function M.add(h, value)
  local bucket = value < TIER_BUCKETS and floor(value) or bucket_above(value)
  h.buckets[bucket] = h.buckets[bucket] + 1
  h.count = h.count + 1
  h.sum = h.sum + value
  if value < h.least then h.least = value end
  if value > h.greatest then h.greatest = value end
end

--- Count in `h` what `other` has counted, too.
function M.merge(h, other)
  for bucket = 0, BUCKETS - 1 do
    h.buckets[bucket] = h.buckets[bucket] + other.buckets[bucket]
  end
  h.count, h.sum = h.count + other.count, h.sum + other.sum
  h.least = math.min(h.least, other.least)
  h.greatest = math.max(h.greatest, other.greatest)
end

-- The middle of a bucket.
local function value_of(bucket)
  local tier = floor(bucket / TIER_BUCKETS)
  return (bucket % TIER_BUCKETS + 0.5) * GROWTH ^ tier
end

--- Call f(value, count) for each bucket that has any, in order: a value in its middle,
--- but no less than the least and no more than the greatest there is, or LONGEST.
function M.each(h, f)
  for bucket = 0, BUCKETS - 1 do
    local count = h.buckets[bucket]
    if count > 0 then
      local value = math.min(math.max(value_of(bucket), h.least), h.greatest)
      f(math.min(value, M.LONGEST), count)
    end
  end
end

--- The value that the share `q` (0 to 1) of all values doesn't exceed, in ns; nil if
--- there are none.
function M.quantile(h, q)
  if h.count == 0 then return nil end
  local wanted, seen = math.max(1, math.ceil(q * h.count)), 0
  for bucket = 0, BUCKETS - 2 do
    seen = seen + h.buckets[bucket]
    if seen >= wanted then
      return math.min(math.max(value_of(bucket), h.least), h.greatest)
    end
  end
  return h.greatest
end

--- A table of what is commonly asked, in ns: min, mean, median, p90, p99, p999, max,
--- and the count; nil if there are no values.
function M.summary(h)
  if h.count == 0 then return nil end
  return {
    count = h.count, min = h.least, mean = h.sum / h.count,
    median = M.quantile(h, 0.5), p90 = M.quantile(h, 0.9), p99 = M.quantile(h, 0.99),
    p999 = M.quantile(h, 0.999), max = h.greatest,
  }
end

--- So many nanoseconds as text.
function M.text(ns)
  if ns < 1e3 then return ("%.0f ns"):format(ns) end
  if ns < 1e6 then return ("%.3f us"):format(ns / 1e3) end
  return ns < 1e9 and ("%.3f ms"):format(ns / 1e6) or ("%.3f s"):format(ns / 1e9)
end

return M
