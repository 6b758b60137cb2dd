-- SPDX-License-Identifier: Apache-2.0
-- What a trial of program.loadtest.tester is for Multiple Loss Ratio search: its loss
-- ratio, or that this machine was the cause. Pure.

local trial = {}

-- The loss ratio of one stream: of what was to be sent at `rate`, where the port didn't
-- take all of it (what it holds back the device didn't take), else of what was sent.
local function of_stream(stream, rate, seconds)
  if stream.kept or stream.tx == 0 then return stream.tx > 0 and stream.loss or 1 end
  return math.max(stream.loss, 1 - stream.bits * (1 - stream.loss) / (rate * seconds))
end

--- The loss ratio of the trial: the worst of its streams'.
function trial.loss_ratio(result)
  local worst = 0
  for _, stream in ipairs(result.streams) do
    worst = math.max(worst, of_stream(stream, result.rate, result.seconds))
  end
  return worst
end

--- A judge for the tester's `valid`: does the trial count? Not if this machine sent
--- less than it should have, unless even of that more was lost than `loss` (a ratio);
--- nor if it may have lost packets itself, or by bursts, and more than `loss` only by
--- that.
function trial.judge(loss)
  return function (result)
    local most, least, kept = 0, 0, true
    for _, stream in ipairs(result.streams) do
      most, kept = math.max(most, stream.loss), kept and stream.kept
      local certain = stream.loss - (stream.doubtful or 0) / math.max(1, stream.tx or 1)
      least = math.max(least, certain)
    end
    if most > 0 and not result.fair or most > loss and least <= loss then
      return false, "packets were lost"
    end
    if not kept and result.late > 0 and most <= loss then
      return false, "the rate was not kept"
    end
    return true
  end
end

return trial
