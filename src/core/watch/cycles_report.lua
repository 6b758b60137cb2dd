-- SPDX-License-Identifier: Apache-2.0
-- Prints where the cycles of a run went, a packet (core.watch.cycles).

local C = require("core.native")
local cycles = require("core.watch.cycles")
local publish = require("core.watch.cycles_publish")

local report = {}

local MOST_TASKS = 8 -- lines; the costliest

local function copy(t)
  local result = {}
  for key, value in pairs(t) do
    result[key] = type(value) == "table" and copy(value) or value
  end
  return result
end

local start = copy(cycles.totals())

--- Note the totals: what follows is counted from here.
function report.begin()
  start = copy(cycles.totals())
end

--- What was spent since `since` (a copy of the totals; or report.begin), a table:
--- packets, samples, breaths; TSC cycles a packet, `receive`, `send`, `empty`, `sleep`,
--- `engine`, `task` (in all) and `tasks` by label; `busy`, the sum of all but sleep;
--- `cpu`, which is what the thread's CPU time says of that sum; and `core_per_tsc`, the
--- core's cycles in one of the TSC. Nil if there were no packets, or no samples.
function report.since(since)
  local now, from = cycles.totals(), since or start
  local packets = now.packets - from.packets
  local spent = {packets = packets, samples = now.samples - from.samples,
                 breaths = now.breaths - from.breaths, tasks = {}, task = 0}
  if packets <= 0 or spent.samples <= 0 then return nil end
  for _, part in ipairs{"receive", "send", "empty", "sleep", "engine", "tsc"} do
    spent[part] = (now[part] - from[part]) / packets
  end
  for label, total in pairs(now.tasks) do
    spent.tasks[label] = (total - (from.tasks[label] or 0)) / packets
    spent.task = spent.task + spent.tasks[label]
  end
  spent.busy = spent.receive + spent.send + spent.empty + spent.engine + spent.task
  spent.cpu = (now.cpu - from.cpu) * tonumber(C.pg_tsc_hz()) / packets
  spent.core_per_tsc = publish.core_per_tsc()
  return spent
end

local function costliest(tasks)
  local labels = {}
  for label, spent in pairs(tasks) do
    if spent > 0 then labels[#labels + 1] = label end
  end
  table.sort(labels, function (a, b)
    if tasks[a] ~= tasks[b] then return tasks[a] > tasks[b] end
    return a < b
  end)
  return labels
end

-- Where most breaths found no packet: what the CPU did, in percent of its time; cycles
-- a packet would be those of looking for one.
local function print_idle(spent, where)
  local function percent(part) return 100 * part / spent.busy end
  print((where .. "the CPU's time, mostly idle: receive %.0f%% + send %.0f%% + apps "
    .. "%.0f%% + engine %.0f%% + empty polls %.0f%%  (asleep %.0f%%; %.0f breaths for "
    .. "each packet)"):format(percent(spent.receive), percent(spent.send),
    percent(spent.task), percent(spent.engine), percent(spent.empty),
    100 * spent.sleep / spent.tsc, spent.breaths / spent.packets))
end

--- Print what report.since() returned; nothing if there is nothing to tell. `where`
--- ("CPU 2: ") is what lines begin with.
function report.print(spent, where)
  if not spent then return end
  where = where or ""
  if spent.packets < spent.breaths then return print_idle(spent, where) end
  print((where .. "cycles a packet: receive %.1f + send %.1f + apps %.1f + engine %.1f"
    .. " + empty polls %.1f = %.1f  (CPU time: %.1f; asleep %.0f%%; 1 breath in %.0f"
    .. " sampled; core at %.2f GHz, %.2f times the TSC)"):format(spent.receive,
    spent.send, spent.task, spent.engine, spent.empty, spent.busy, spent.cpu,
    100 * spent.sleep / spent.tsc, spent.breaths / spent.samples,
    spent.core_per_tsc * tonumber(C.pg_tsc_hz()) / 1e9, spent.core_per_tsc))
  local labels = costliest(spent.tasks)
  for i = 1, math.min(#labels, MOST_TASKS) do
    print((where .. "%10.1f in %s"):format(spent.tasks[labels[i]], labels[i]))
  end
  if #labels > MOST_TASKS then
    print((where .. "           ... and %d more"):format(#labels - MOST_TASKS))
  end
end

return report
