-- SPDX-License-Identifier: Apache-2.0
-- What this instance has counted since it began, as plain data: of its engines on all
-- CPUs, its links, apps and ports. Read from memory: no file is opened (--sandbox).

local C = require("core.native")
local RemoteApp = require("core.cpus.remote_app")
local account = require("core.engine.account")
local counter = require("core.counter")
local drops = require("core.fuse.drops")
local engine = require("core.app")
local engine_counters = require("core.engine.counters").counters
local graph = require("lib.observe.graph")
local totals = require("core.engine.totals")
local workers = require("core.cpus.workers")

local counted = {}

local PACKETS = {"received", "allocated", "sent", "freed", "port_drops", "in_links",
                 "in_rings", "held"}

local function numbers(t)
  local plain = {}
  for name, value in pairs(t) do
    if tonumber(value) then plain[name] = tonumber(value) end
  end
  return plain
end

local function filled(t) return next(t) and t or nil end

--- Of this thread's engine: {apps = {[NAME] = {counters = {[NAME] = number}, drops =
--- {[REASON] = packets}}}, sleeps =, wakeups =}. What has nothing to count has neither.
function counted.here()
  engine.sync()
  local apps = {}
  for name, app in pairs(engine.app_table) do
    if getmetatable(app) ~= RemoteApp then
      if app.publish_counters then app:publish_counters() end -- as ports have it
      local told = totals.app(app)
      apps[name] = {counters = filled(numbers(told.counters)),
                    drops = filled(numbers(told.drops))}
    end
  end
  return {apps = apps, sleeps = tonumber(counter.read(engine_counters.sleeps)),
          wakeups = tonumber(counter.read(engine_counters.wakeups))}
end

-- The same of each worker that answers, by its CPU.
local function of_workers()
  local told = {}
  for cpu, worker in pairs(workers.by_cpu) do
    local ok, answer = pcall(workers.call, cpu, "lib.observe.counted", "here")
    if ok and not worker:is_given_up() then told[cpu] = answer end
  end
  return told
end

local function packets_of(told)
  local sums, packets = account.packets(engine.link_table, told.in_links), {}
  for _, name in ipairs(PACKETS) do packets[name] = sums[name] end
  return packets
end

local function links()
  local list = {}
  for spec, stats in pairs(engine.link_totals()) do list[spec] = numbers(stats) end
  return list
end

--- Where every packet went (the names are those of core.engine.account), what links
--- have carried, and what apps have counted, on all CPUs: {packets =, links = {[SPEC] =
--- totals}, apps = as here()}. Also what here() told on the main thread and on each of
--- the workers' CPUs, and core.cpus.workers.report().
function counted.graph()
  local here, told, report = counted.here(), of_workers(), workers.report()
  local apps = here.apps
  for _, answer in pairs(told) do
    for name, app in pairs(answer.apps) do apps[name] = app end
  end
  return {packets = packets_of(report), links = links(), apps = apps},
    here, told, report
end

local function engine_now()
  local function read(name) return tonumber(counter.read(engine_counters[name])) end
  return {breaths = read("breaths"), packets = read("frees"), bytes = read("freebytes"),
          bits = read("freebits"), configurations = read("configs")}
end

-- Each worker's CPU, by its number as a text (JSON's keys are texts).
local function cpus_of(report, told)
  local cpus = {}
  for cpu, figures in pairs(report.cpus) do
    local sleeping = told[cpu] or {}
    cpus[tostring(cpu)] = {packets = figures.packets, breaths = figures.breaths,
      cpu_seconds = figures.seconds, sleeps = sleeping.sleeps,
      wakeups = sleeping.wakeups}
  end
  return filled(cpus)
end

local function removed_apps()
  local removed = {}
  for name, reasons in pairs(drops.of_removed()) do
    removed[name] = filled(numbers(reasons))
  end
  return filled(removed)
end

--- What the control socket's `counters` is answered (doc/control.md): graph(), and
--- `time` (seconds of the monotonic clock), `cpu_seconds` of the process, `engine`,
--- `cpus` of workers, `ports` ({[APP] = port string}), `removed` (drops of apps that
--- are no more).
function counted.all()
  local result, here, told, report = counted.graph()
  result.time, result.cpu_seconds = C.pg_monotonic(), C.pg_cpu_seconds()
  result.engine = engine_now()
  result.engine.sleeps, result.engine.wakeups = here.sleeps, here.wakeups
  result.cpus = cpus_of(report, told)
  result.ports, result.removed = filled(graph.ports()), removed_apps()
  return result
end

return counted
