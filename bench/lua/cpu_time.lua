-- SPDX-License-Identifier: Apache-2.0
-- What scripts of this folder measure by: CPU time of this process, as the references
-- in C do. On a machine that others use, little of so much wall time is left to compile
-- in.

local C = require("core.native")

local cpu_time = {}

local TURNS = 64 -- between looks at the clock
local WARM_UP_SECONDS = 0.3

--- Run the engine for so many seconds of CPU time.
function cpu_time.run(seconds)
  local ends, turns = C.pg_cpu_seconds() + seconds, 0
  engine.main{no_report = true, done = function ()
    turns = turns + 1
    return turns % TURNS == 0 and C.pg_cpu_seconds() >= ends
  end}
end

--- Print what count(), a number of packets, grows by within so many seconds, after a
--- warm-up: packets, CPU seconds, TSC Hz.
function cpu_time.report(count, seconds)
  cpu_time.run(WARM_UP_SECONDS)
  local packets, cpu = count(), C.pg_cpu_seconds()
  cpu_time.run(tonumber(seconds))
  print(("%d %.6f %d"):format(count() - packets, C.pg_cpu_seconds() - cpu,
    tonumber(C.pg_tsc_hz())))
end

return cpu_time
