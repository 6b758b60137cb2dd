-- SPDX-License-Identifier: Apache-2.0
-- Snabb's interface to a CPU's performance counters. Perigee doesn't program them
-- (`perf stat` does, for any process): is_available() says so, and measurements hold
-- one event, the time stamp counter's cycles.

local C = require("core.native")
local tables = require("core.lib.tables")

local pmu = {}

local EVENT = "tsc_cycles"

--- Whether counters can be had: false, and why.
function pmu.is_available()
  return false, "Perigee doesn't program performance counters; `perf stat -p PID` does"
end

--- Choose events by patterns of their names: there are none to choose; 0.
function pmu.setup() return 0 end

local active -- the counter set that is counting, if any
local began

--- A new set of counters, at 0.
function pmu.new_counter_set() return {cycles = 0} end

--- Count into `set` from now on, or with nil stop counting.
function pmu.switch_to(set)
  local now = C.pg_tsc()
  if active then active.cycles = active.cycles + tonumber(now - began) end
  active, began = set, now
end

--- The set's events, {[NAME] = count}.
function pmu.to_table(set) return {[EVENT] = set.cycles} end

--- Call `f` and count: its first result, and the events with those of `aux`.
function pmu.measure(f, _, aux)
  local set = pmu.new_counter_set()
  pmu.switch_to(set)
  local result = f()
  pmu.switch_to(nil)
  local events = pmu.to_table(set)
  for name, count in pairs(aux or {}) do events[name] = count end
  return result, events
end

--- Print the events, and how many there were of each for each one in `aux`.
function pmu.report(events, aux)
  for _, name in ipairs(tables.sorted_keys(events)) do
    local cells = {("%-40s %15d"):format(name, events[name])}
    for unit, count in pairs(aux or {}) do
      cells[#cells + 1] = (" %12.3f /%s"):format(events[name] / count, unit)
    end
    print(table.concat(cells))
  end
end

--- Call `f`, print the events unless `quiet`, and return f's first result.
function pmu.profile(f, events, aux, quiet)
  local result, counted = pmu.measure(f, events, aux)
  if not quiet then pmu.report(counted, aux) end
  return result
end

return require("core.lib.arguments").guard(pmu, "pmu", {
  switch_to = "table?", to_table = "table", measure = "function",
  report = "table, table?",
  profile = "function",
})
