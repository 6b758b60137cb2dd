-- SPDX-License-Identifier: Apache-2.0
-- What the engines of an instance say of themselves: the main thread's under engine/,
-- those of its workers under workers/CPU/engine/. For lib.observe.sample, whose samples
-- and function rate(before, now, name) these functions take. Pure.

local shm = require("core.shm")

local engines = {}

--- What every engine's account of cycles has besides its tasks (core.watch.cycles): a
--- list.
engines.PARTS = {"receive", "send", "engine", "empty", "sleep"}

--- Where engines have their objects: {path = "", label = ""} for the main thread, then
--- {path = "workers/2/", label = "cpu 2: ", cpu = 2} for each worker, in order.
function engines.list(now)
  local found, list = {}, {}
  for name in pairs(now.objects) do
    local cpu = name:match("^workers/(%d+)/")
    if cpu and not found[cpu] then
      found[cpu] = true
      list[#list + 1] = {path = ("workers/%s/"):format(cpu),
                         label = ("cpu %s: "):format(cpu), cpu = tonumber(cpu)}
    end
  end
  table.sort(list, function (a, b) return a.cpu < b.cpu end)
  table.insert(list, 1, {path = "", label = ""})
  return list
end

local function names_below(now, path)
  local list = {}
  for name in pairs(now.objects) do
    if name:sub(1, #path) == path then list[#list + 1] = name:sub(#path + 1) end
  end
  return list
end

--- Where the cycles went: a list of {name = "cpu 2: send", cpu = 2 (nil: the main
--- thread's), part = one of PARTS or task = a name, pps = TSC cycles a second, value =
--- TSC cycles a packet (or nil, also where most breaths found none)}; and the core's
--- frequency in Hz, if it is known.
function engines.cycles(before, now, rate)
  local list, hz = {}, nil
  for _, e in ipairs(engines.list(now)) do
    local path = e.path .. "engine/cycles/"
    local packets = rate(before, now, path .. "packets") or 0
    local idle = packets < (rate(before, now, path .. "breaths") or 0)
    local function add(name, part, task)
      local cycles = rate(before, now, path .. name)
      if not cycles then return end
      list[#list + 1] = {name = e.label .. (part or task), cpu = e.cpu, part = part,
                         task = task, pps = cycles,
                         value = packets > 0 and not idle and cycles / packets or nil}
    end
    for _, name in ipairs(engines.PARTS) do add(name, name) end
    for _, name in ipairs(names_below(now, path .. "tasks/")) do
      add("tasks/" .. name, nil, shm.name_of_part(name))
    end
    local _, core_hz = rate(before, now, path .. "core_hz")
    hz = hz or core_hz
  end
  return list, hz
end

--- The workers: a list of {name = "cpu 2", pps, breaths (a second)}.
function engines.workers(before, now, rate)
  local list = {}
  for _, e in ipairs(engines.list(now)) do
    if e.cpu then
      list[#list + 1] = {
        name = ("cpu %d"):format(e.cpu),
        pps = rate(before, now, e.path .. "engine/frees") or 0,
        breaths = rate(before, now, e.path .. "engine/breaths") or 0,
      }
    end
  end
  return list
end

--- Of all engines, a second: sleeps until something comes, and those that ended for it.
function engines.sleeps(before, now, rate)
  local sleeps, wakeups = 0, 0
  for _, e in ipairs(engines.list(now)) do
    sleeps = sleeps + (rate(before, now, e.path .. "engine/sleeps") or 0)
    wakeups = wakeups + (rate(before, now, e.path .. "engine/wakeups") or 0)
  end
  return sleeps, wakeups
end

local JIT = {"traces", "flushes", "aborts", "blacklisted", "stitches", "exits",
             "problems"}

--- What LuaJIT did in all engines, as sums by name, or nil if none says so; and the set
--- of the apps whose code it has given up on.
function engines.jit(now, count)
  local sums, slowed = nil, {}
  for _, e in ipairs(engines.list(now)) do
    local path = e.path .. "engine/jit/"
    for _, name in ipairs(JIT) do
      local n = count(now, path .. name)
      if n then
        sums = sums or {}
        sums[name] = (sums[name] or 0) + n
      end
    end
    for _, name in ipairs(names_below(now, path .. "apps/")) do
      local events = count(now, path .. "apps/" .. name) or 0
      slowed[shm.name_of_part(name)] = events > 0 or nil
    end
  end
  return sums, slowed
end

return engines
