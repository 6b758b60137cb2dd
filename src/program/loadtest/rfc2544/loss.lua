-- SPDX-License-Identifier: Apache-2.0
-- The frame loss rate test of RFC 2544, section 26.3: at the highest rate, then at one
-- that is lower by a step each time, until two trials in succession keep their rates
-- and lose nothing.

local loss = {}

local ENOUGH = 2 -- trials in succession without loss

-- The sums over the streams.
local function shares(result)
  local tx, lost, kept = 0, 0, true
  for _, s in ipairs(result.streams) do
    tx, lost, kept = tx + s.tx, lost + s.lost, kept and s.kept
  end
  return {rate = result.rate, tx = tx, lost = lost, loss = tx > 0 and lost / tx or 0,
          kept = kept, late = result.late, passed = result.passed, void = result.void,
          reason = result.reason, streams = result.streams}
end

local function judge(result)
  local s = shares(result)
  if s.tx == 0 then return false, "nothing was sent" end
  if s.lost > 0 then return false, "packets were lost", result.fair end
  return s.kept, "the rate was not kept"
end

--- The rates of the test: bits a second from the highest down, each lower by a share of
--- the highest.
function loss.rates(highest, step)
  local list, n = {}, 0
  while n * step < 1 - 1e-9 do
    list[n + 1] = highest * (1 - n * step)
    n = n + 1
  end
  return list
end

--- A list of trials: {rate, tx, lost (packets), loss (share), kept = was the rate
--- kept?, late, passed, void, reason (program.loadtest.tester), streams}. `options`:
--- max = the highest rate, step, duration, wait, pause. say(trial) is called after
--- each.
function loss.test(t, options, say)
  local list, without = {}, 0
  for _, rate in ipairs(loss.rates(options.max, options.step)) do
    local result = t:valid_trial(rate, options.duration, options.wait, judge,
      function () t:pause(options.pause) end)
    local trial = shares(result)
    list[#list + 1] = trial
    say(trial)
    without = result.passed and without + 1 or 0
    if without == ENOUGH then break end
    t:pause(options.pause)
  end
  return list
end

return loss
