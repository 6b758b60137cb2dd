-- SPDX-License-Identifier: Apache-2.0
-- The highest rate that passes, by halving the interval it is in. Pure.

local search = {}

local function round(rate, precision)
  return math.floor(rate / precision + 0.5) * precision
end

--- The highest rate, a multiple of `options.precision` up to `options.max`, that
--- passes; 0 if none does. passes(rate) tries one; a rate that fails is tried
--- `options.retries` times more. The highest is tried first (RFC 2544, section 26.1).
--- What passes at a rate is taken to pass below it.
function search.limit(options, passes)
  local precision = options.precision
  local function tried(rate)
    for _ = 0, options.retries do
      if passes(rate) then return true end
    end
    return false
  end
  local low, high = 0, round(options.max, precision)
  if high > options.max then high = high - precision end
  if high <= 0 then return 0 end
  if tried(high) then return high end
  while true do
    local rate = round((low + high) / 2, precision)
    if rate <= low or rate >= high then return low end
    if tried(rate) then low = rate else high = rate end
  end
end

return search
