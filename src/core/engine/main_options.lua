-- SPDX-License-Identifier: Apache-2.0
-- The options of engine.main.

local config = require("core.config")
local signals = require("core.engine.signals")

local options = {}

local KNOWN = {duration = true, done = true, report = true, no_report = true,
               measure_latency = true, no_timers = true, on_signal = true}
local told = {}

--- Check the table `given`. An unknown option is told of, once, and ignored: Snabb
--- ignores it, and some of its programs say `noreport`.
function options.check(given)
  for key in pairs(given) do
    if not KNOWN[key] and not told[key] then
      told[key] = true
      io.stderr:write(("perigee: engine.main has no option '%s'; it takes %s\n")
        :format(tostring(key), table.concat(config.sorted_keys(KNOWN), ", ")))
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
