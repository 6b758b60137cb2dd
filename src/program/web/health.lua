-- SPDX-License-Identifier: Apache-2.0
-- How an instance does, in a word and a sentence, for the page's list. Pure.

local sample = require("lib.observe.sample")

local health = {}

--- Of the instance (lib.observe.instances), what happened in its last second (`d`, of
--- lib.observe.sample; nil: not known yet), and whether it has a control socket:
--- "good", "warning" or "bad", and why, in a few words.
function health.of(instance, d, has_control)
  if instance.last_good then
    return "bad", "runs the last good configuration: " .. instance.last_good
  elseif instance.standby then
    return "good", "stands by for " .. instance.standby
  elseif not d then
    return "good", "reading"
  end
  local drops = sample.dropped(d)
  if drops > 0 then return "warning", ("drops %.0f a second"):format(drops) end
  if d.jit and (d.jit.problems or 0) > 0 then
    return "warning", "slowed down: see perigee doctor"
  elseif d.engine.breaths == 0 and d.engine.sleeps == 0 and #d.devices == 0
      and #d.tasks == 0 then
    return "warning", "its engine stands still"
  elseif not has_control then
    return "good", "counters only: no control socket"
  end
  return "good", d.engine.pps > 0 and "works" or "idle"
end

return health
