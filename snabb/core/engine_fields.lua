-- SPDX-License-Identifier: Apache-2.0
-- Fields of the engine that Snabb's process manager and tools use. What only Snabb's
-- own LuaJIT has, its log of traces and its profiler, is there and does nothing.

local C = require("core.native")
local actions = require("core.actions")
local pace = require("core.engine.pace")
local timeline = require("core.timeline")

local snabb = {}

local HIGHEST_RATE = 9 -- of events that are always logged
local log -- the process's timeline; false where timelines are off

--- Give `engine` these fields.
function snabb.attach(engine)
  engine.compute_config_actions = actions.compute

  --- Change the running graph as the list of actions says.
  function engine.apply_config_actions(list)
    engine.configure_anew(actions.apply(engine.configuration, list))
  end

  --- Call tick() so many times a second (default: as before); 0 for never.
  function engine.enable_tick(hz)
    engine.tick_Hz = hz or engine.tick_Hz
  end

  --- Sleep as busywait, Hz and the load ask for; for loops around engine.breathe.
  local began
  function engine.pace_breathing()
    pace.breath(engine, began or C.pg_monotonic())
    began = C.pg_monotonic()
  end

  --- The process's timeline (core.timeline), events.timeline in shared memory; false
  --- where timelines are off.
  function engine.timeline()
    if log == nil then
      log = timeline.new("events.timeline")
      if log then timeline.rate(log, HIGHEST_RATE) end
    end
    return log
  end

  --- Let the timeline log, until the next call, from a rate on that is drawn so that
  --- each rate gets five times as long as the one below.
  function engine.randomize_log_rate()
    if not log then return end
    local drawn = math.log(math.random(5 ^ HIGHEST_RATE)) / math.log(5)
    timeline.rate(log, math.max(1, math.ceil(drawn)))
  end

  engine.auditlog_enabled = false
  engine.vmprofile_enabled = false
  function engine.enable_auditlog() end
  function engine.setvmprofile() end
  function engine.clearvmprofiles() end
end

return snabb
