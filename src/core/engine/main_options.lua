-- SPDX-License-Identifier: Apache-2.0
-- The options of engine.main, and the settings that it uses: what is wrong with them
-- is said before anything begins.

local config = require("core.config")
local failure = require("core.failure")
local log = require("core.lib.log")
local settings = require("core.engine.settings")
local signals = require("core.engine.signals")

local options = {}

local KNOWN = {duration = true, done = true, report = true, no_report = true,
               measure_latency = true, no_timers = true, on_signal = true,
               ask_within = true, in_rows = true}
local told = {}

local LEAST_PATIENCE, MOST_PATIENCE = 0.2, 1e6 -- seconds

--- May the watchdog wait for so many seconds?
function options.is_patience(seconds)
  return type(seconds) == "number" and seconds >= LEAST_PATIENCE
    and seconds <= MOST_PATIENCE
end

local function check_settings()
  if settings.watchdog and not options.is_patience(settings.watchdog) then
    failure.usage("engine.watchdog is '%s'; it must be a number of seconds from %g on, "
      .. "or false", tostring(settings.watchdog), LEAST_PATIENCE)
  end
  if settings.stuck_worker ~= "stop" and settings.stuck_worker ~= "give up" then
    failure.usage("engine.stuck_worker is '%s'; it must be 'stop' or 'give up'",
      tostring(settings.stuck_worker))
  end
end

--- Check the table `given`, and the settings. An unknown option is told of, once, and
--- ignored: Snabb ignores it, and some of its programs say `noreport`.
function options.check(given)
  check_settings()
  for key in pairs(given) do
    if not KNOWN[key] and not told[key] then
      told[key] = true
      log.warning("engine.main has no option '%s'; it takes %s", tostring(key),
        table.concat(config.sorted_keys(KNOWN), ", "))
    end
  end
  for name in pairs(given.on_signal or {}) do
    if not signals.known(name) then
      error(("engine.main: on_signal takes HUP, USR1 and USR2, not '%s'")
        :format(tostring(name)), 4)
    end
  end
  if given.duration and given.done then
    error("engine.main takes `duration` or `done`, not both", 4)
  end
end

return options
