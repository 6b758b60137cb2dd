-- SPDX-License-Identifier: Apache-2.0
-- A process that is configured again and again compiles code for each graph, and LuaJIT
-- gives code up for good that it failed to compile a few times, as the graphs before
-- were: also code that all graphs share. So a change of the configuration lets LuaJIT
-- try anew what was given up, and when there is much compiled code, throws it all away.

local health = require("core.watch.health")

local afresh = {}

--- How many traces there may be before a change of the configuration throws them away.
afresh.MOST_TRACES = 5000

--- Let LuaJIT try anew what it has given up; if there is much compiled code, throw that
--- away. To be called between breaths. `within`: compiled code may be waiting for this
--- to return. LuaJIT forgets that when a single trace goes, so none does.
function afresh.tend(within)
  if health.traces_alive >= afresh.MOST_TRACES then health.flush() end
  health.retry(within)
end

return afresh
