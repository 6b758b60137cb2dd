-- SPDX-License-Identifier: Apache-2.0
-- What a worker tells when the main thread reports: its links' totals, and what its
-- account needs besides what the main thread reads itself. Apps print by themselves.

local C = require("core.native")
local cycles_report = require("core.watch.cycles_report")
local link = require("core.link")
local report = require("core.engine.report")

local answer = {}

--- The answer of this state's `engine` to a report's `message`: {links = {[SPEC] =
--- totals}, in_links =, seconds = of CPU time, cycles = where they went since it began
--- to run, drops = of the app `message.drops`, problem = what an app's report()
--- raised}.
--- `message.apps`: let the apps report, on stdout.
function answer.of(engine, message)
  engine.sync()
  local result = {links = link.all_stats(engine.link_table), in_links = 0,
                  seconds = C.pg_thread_cpu_seconds(), cycles = cycles_report.since()}
  for _, l in pairs(engine.link_table) do
    result.in_links = result.in_links + link.nreadable(l)
  end
  if message.apps then
    local problem = report.apps(engine.app_table, ("CPU %d"):format(message.apps))
    result.problem = problem and tostring(problem)
    io.stdout:flush()
  end
  if message.drops then result.drops = engine.drops(message.drops) end
  return result
end

return answer
