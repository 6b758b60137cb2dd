-- SPDX-License-Identifier: Apache-2.0
-- The options of engine.main, and the settings that it uses: what is wrong with them
-- is said before anything begins.

local arguments = require("core.lib.arguments")
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

-- Those that have a type of their own, and what is said of it.
local TYPES = {
  duration = {"number", "a number of seconds"}, done = {"function", "a function"},
  report = {"table", "a table"}, on_signal = {"table", "a table of functions"},
  ask_within = {"number", "a number of seconds"},
}

local function check_types(given)
  for name, kind in pairs(TYPES) do
    local value = given[name]
    if value ~= nil and (type(value) ~= kind[1] or value ~= value) then
      error(("engine.main: %s is %s; it takes %s"):format(name, arguments.shown(value),
        kind[2]), 5)
    end
  end
  for name, handler in pairs(given.on_signal or {}) do
    if not signals.known(name) then
      error(("engine.main: on_signal takes HUP, USR1 and USR2, not '%s'")
        :format(tostring(name)), 5)
    elseif type(handler) ~= "function" then
      error(("engine.main: on_signal.%s is %s; it takes a function"):format(name,
        arguments.shown(handler)), 5)
    end
  end
end

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
  check_types(given)
  if given.duration and given.done then
    error("engine.main takes `duration` or `done`, not both", 4)
  end
end

--- Let the functions of `engine` look at what they are given. Returns it.
function options.guard(engine)
  return arguments.guard(engine, "engine", {
    main = "table?", configure = "configuration", report = "table?",
    configure_meanwhile = "configuration, function?",
    configure_anew = "configuration, table?",
  })
end

return options
