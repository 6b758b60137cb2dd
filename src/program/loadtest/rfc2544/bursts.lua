-- SPDX-License-Identifier: Apache-2.0
-- The back-to-back frames test of RFC 2544, section 26.4: the longest burst at the
-- highest rate of which nothing is lost; the mean of several searches.

local rate_of = require("lib.traffic.rate")
local search = require("program.loadtest.search")

local bursts = {}

local STEPS = 100 -- of the longest burst: how precise a search is

local function judge(result)
  for _, s in ipairs(result.streams) do
    if not s.kept then return false, "the burst was not sent at the rate" end
    if s.lost > 0 then return false, "packets were lost" end
  end
  return true
end

--- The frames of `size` bytes that take so many seconds at `rate`, as a multiple of a
--- search's precision, and that.
function bursts.longest(size, rate, seconds)
  local frames = math.max(1, math.floor(rate * seconds / rate_of.wire_bits(size)))
  local precision = math.max(1, math.floor(frames / STEPS))
  return frames - frames % precision, precision
end

-- One search: the frames, and whether this machine set the limit.
local function find(t, size, options, number)
  local longest, precision = bursts.longest(size, options.max, options.burst_duration)
  local lowest -- that failed
  local function pause() t:pause(options.pause) end
  local function passes(n)
    local seconds = n * rate_of.wire_bits(size) / options.max
    local result = t:valid(("search %d: %d"):format(number, n), function ()
      return t:burst(options.max, n, seconds, options.wait)
    end, judge, pause)
    pause()
    if not result.passed and (not lowest or n <= lowest.n) then
      lowest = {n = n, void = result.void}
    end
    return result.passed
  end
  local frames = search.limit({max = longest, retries = 0, precision = precision},
    passes)
  return {frames = frames, machine = lowest ~= nil and lowest.void == true}
end

--- {frames = the mean of the searches, seconds that so many take, longest = the longest
--- burst that was tried, trials = a list of {frames, machine = did this machine set the
--- limit?}}. `options`: max = the highest rate, burst_duration = of the longest burst,
--- bursts = how many searches, wait, pause. say(trial, number) is called after each.
function bursts.test(t, size, options, say)
  local test = {trials = {}, frames = 0, machine = false,
                longest = (bursts.longest(size, options.max, options.burst_duration))}
  for i = 1, options.bursts do
    local trial = find(t, size, options, i)
    test.trials[i] = trial
    test.frames = test.frames + trial.frames / options.bursts
    test.machine = test.machine or trial.machine
    say(trial, i)
  end
  test.seconds = test.frames * rate_of.wire_bits(size) / options.max
  return test
end

return bursts
