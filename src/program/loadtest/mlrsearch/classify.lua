-- SPDX-License-Identifier: Apache-2.0
-- What trials at one load say of a goal (draft-ietf-bmwg-mlrsearch, appendices A and
-- B): whether the load is a lower or an upper bound, and the conditional throughput.
-- Pure.
--
-- A goal is {loss_ratio, duration = of its full-length trials, duration_sum,
-- exceed_ratio = the share of the time in which more may be lost, width = the relative
-- width between the bounds}; a trial is {duration, loss_ratio}, both of seconds and
-- shares.

local classify = {}

-- The seconds of the trials: good and bad ones, full-length and short ones.
local function sums(trials, goal)
  local s = {good_long = 0, bad_long = 0, good_short = 0, bad_short = 0}
  for _, trial in ipairs(trials) do
    local quality = trial.loss_ratio > goal.loss_ratio and "bad" or "good"
    local length = trial.duration >= goal.duration and "_long" or "_short"
    s[quality .. length] = s[quality .. length] + trial.duration
  end
  return s
end

--- "lower", "upper", or nil as long as the trials leave it open.
function classify.load(trials, goal)
  local s = sums(trials, goal)
  local balancing = s.good_short * goal.exceed_ratio / (1 - goal.exceed_ratio)
  local bad = s.bad_long + math.max(0, s.bad_short - balancing)
  local whole = math.max(s.good_long + bad, goal.duration_sum)
  local allowed = whole * goal.exceed_ratio
  local optimistic, pessimistic = bad <= allowed, whole - s.good_long <= allowed
  if optimistic and pessimistic then return "lower" end
  if not optimistic and not pessimistic then return "upper" end
  return nil
end

--- What a device forwards at `load`, in the load's unit: the load without the loss that
--- all full-length trials but a share of `exceed_ratio` don't exceed.
function classify.conditional_throughput(load, trials, goal)
  local s, long = sums(trials, goal), {}
  for _, trial in ipairs(trials) do
    if trial.duration >= goal.duration then long[#long + 1] = trial end
  end
  table.sort(long, function (a, b) return a.loss_ratio < b.loss_ratio end)
  local left = math.max(goal.duration_sum, s.good_long + s.bad_long)
    * (1 - goal.exceed_ratio)
  local loss
  for _, trial in ipairs(long) do
    if loss and left <= 0 then break end
    loss, left = trial.loss_ratio, left - trial.duration
  end
  if left > 0 then loss = 1 end
  return load * (1 - loss)
end

return classify
