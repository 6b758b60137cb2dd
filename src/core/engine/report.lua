-- SPDX-License-Identifier: Apache-2.0
-- What engine.main prints at its end, and programs when they like: the figures of
-- core.engine.totals as text.

local C = require("core.native")
local blocked = require("core.engine.blocked")
local causes = require("core.watch.causes")
local config = require("core.config")
local drops = require("core.fuse.drops")
local errors = require("core.engine.errors")
local cycles_report = require("core.watch.cycles_report")
local failure = require("core.failure")
local health = require("core.watch.health")
local lib = require("core.lib")
local log = require("core.lib.log")
local mode = require("core.check.mode")
local outside = require("core.outside.visitors")
local totals = require("core.engine.totals")
local tables = require("core.lib.tables")

local report = {}

local function commas(n)
  return lib.comma_value(("%.0f"):format(tonumber(n)))
end

-- The keys in the order people expect: fwd2 before fwd10.
local function natural_order(t)
  local keys, rank = config.sorted_keys(t), {}
  for _, key in ipairs(keys) do
    rank[key] = key:gsub("%d+", function (digits)
      return ("%03d%s"):format(#digits, digits)
    end)
  end
  table.sort(keys, function (a, b) return rank[a] < rank[b] end)
  return keys
end

local function share(part, whole)
  return whole > 0 and part / whole or 0
end

--- A number with its SI prefix: si(1.5e6, "pps") is "1.500 Mpps".
function report.si(value, unit)
  for _, step in ipairs{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} do
    if value >= step[1] then
      return ("%.3f %s%s"):format(value / step[1], step[2], unit)
    end
  end
  return ("%.0f %s"):format(value, unit)
end

-- Where the cycles of the main thread went, and those of workers.
local function cycles(spent, cpus)
  local numbers = tables.sorted_keys(cpus)
  cycles_report.print(spent, #numbers > 0 and "main thread: " or nil)
  for _, cpu in ipairs(numbers) do
    cycles_report.print(cpus[cpu].cycles, ("CPU %d: "):format(cpu))
  end
end

-- TSC cycles a packet, as text. Where most breaths found no packet, they are those of
-- looking, and no packet's.
local function cost(tsc, packets, breaths)
  return packets >= math.max(breaths, 1) and ("%.1f"):format(tsc / packets) or "-"
end

--- Print rate, CPU use and cost of a `load` (core.engine.totals), and where the cycles
--- went, also those of workers, {[CPU] = {cycles = what core.watch.cycles_report gives
--- of it}}.
function report.load(load, cpus)
  local time, packets = load.time, load.packets
  print(("load: %s  %s on the wire  %.0f%% CPU  %s cycles/packet  "
    .. "%.1f packets/breath  %d byte/packet  (%.2f s)"):format(
    report.si(share(packets, time), "pps"), report.si(share(load.bits, time), "bit/s"),
    100 * share(load.cpu, time),
    cost(load.cpu * tonumber(C.pg_tsc_hz()), packets, load.breaths),
    share(packets, load.breaths), share(load.bytes, packets), time))
  if load.sleeps > 0 then
    print(("slept %s times until something came or was due; it came %s times"):format(
      commas(load.sleeps), commas(load.wakeups)))
  end
  cycles(load.cycles, cpus)
end

--- Print each link's totals, {[SPEC] = what link.stats gives}.
function report.links(links)
  print("link report:")
  for _, spec in ipairs(natural_order(links)) do
    local stats = links[spec]
    print(("%20s sent on %s (loss rate: %d%%)%s"):format(commas(stats.txpackets),
      spec, 100 * share(stats.txdrop, stats.txpackets + stats.txdrop),
      stats.txdrop > 0 and ("  %s dropped: link full"):format(commas(stats.txdrop))
        or ""))
  end
end

-- What the engine has counted for the app, as lines: its counters in shared memory
-- ("dropped 3  hits 12,000"), unless it reports itself, and its drops by name.
local function lines_of(app)
  local counted, lines, parts = totals.app(app), {}, {}
  for i, name in ipairs(config.sorted_keys(counted.counters)) do
    parts[i] = ("%s %s"):format(name, commas(counted.counters[name]))
  end
  if not app.report and #parts > 0 then lines[1] = table.concat(parts, "  ") end
  for _, reason in ipairs(config.sorted_keys(counted.drops)) do
    lines[#lines + 1] = ("%s dropped: %s"):format(commas(counted.drops[reason]), reason)
  end
  for _, line in ipairs(errors.lines(app.appname, commas)) do
    lines[#lines + 1] = line
  end
  return lines
end

-- What apps have dropped that are no more (core.fuse.drops).
local function removed_apps(removed)
  for _, name in ipairs(natural_order(removed)) do
    if next(removed[name]) then print(name .. " (removed)") end
    for _, reason in ipairs(config.sorted_keys(removed[name])) do
      print(("  %s dropped: %s"):format(commas(removed[name][reason]), reason))
    end
  end
end

--- Let each app that can report do so; print what the engine has counted for it.
--- `where` names the CPU of a worker; `removed` (optional) are drops of removed apps.
--- Returns a list of the errors that report()s raised: the others report all the same.
function report.apps(apps, where, removed)
  print(where and ("app report, %s:"):format(where) or "app report:")
  local problems = {}
  for _, name in ipairs(natural_order(apps)) do
    local app, lines = apps[name], lines_of(apps[name])
    if app.report or #lines > 0 then print(name) end
    local ok, err = true, nil
    if app.report then ok, err = xpcall(app.report, failure.explain, app) end
    if not ok then problems[#problems + 1] = failure.in_app(name, "report", err) end
    for _, line in ipairs(lines) do print("  " .. line) end
  end
  removed_apps(removed or {})
  return problems
end

--- Print where every packet went: the sums `a` of core.engine.totals.
function report.packets(a)
  local rings = a.workers
    and (" + between CPUs %s"):format(commas(a.in_rings)) or ""
  print(("packets: received %s + allocated %s = sent %s + freed %s + "
    .. "dropped by ports %s + in links %s%s + held by apps %s"):format(
    commas(a.received), commas(a.allocated), commas(a.sent), commas(a.freed),
    commas(a.port_drops), commas(a.in_links), rings, commas(a.held)))
  for _, line in ipairs(a.holders or {}) do print("  " .. line) end
end

--- What is wrong with these sums, a sentence; nil if they balance.
function report.imbalance(a)
  if a.held < 0 then
    return ("%s packets more were sent, freed or dropped than came in: apps free or "
      .. "send packets twice (`perigee --check PROGRAM` says which)"):format(
      commas(-a.held))
  elseif a.counted and a.counted ~= a.held then
    return ("the sum of packets leaves %s for apps to hold, but they hold %s"):format(
      commas(a.held), commas(a.counted))
  elseif a.in_drivers < 0 then
    return ("the sum of packets leaves %s for apps to hold, but only %s are out of the "
      .. "pool"):format(commas(a.held), commas(a.held + a.in_drivers))
  end
end

--- Print what each worker did, {[CPU] = {packets =, breaths =, seconds =, dead =,
--- node = NUMA node of its packets, -1: there is only one}}.
function report.cpus(cpus)
  for _, cpu in ipairs(tables.sorted_keys(cpus)) do
    local c = cpus[cpu]
    print(("CPU %d: %s packets  %s breaths  %.2f s of CPU time%s%s"):format(cpu,
      commas(c.packets), commas(c.breaths), c.seconds,
      c.node >= 0 and ("  memory of NUMA node %d"):format(c.node) or "",
      c.dead and "  (stopped)" or ""))
  end
end

--- Print what links between workers dropped, {[SPEC] = {dropped =, to =}}.
function report.rings(rings)
  for _, spec in ipairs(natural_order(rings)) do
    local ring = rings[spec]
    if ring.dropped > 0 then
      print(("%20s dropped on %s: the worker on CPU %s has stopped"):format(
        commas(ring.dropped), spec, ring.to))
    end
  end
end

--- Print what changes of the configuration cost (core.engine.blocked), if there
--- were any while packets moved, and what it cost to divide the graph over CPUs.
function report.blocked(b)
  if b.cut then
    print(("divided over CPUs while running: %.1f ms in all, %.2f ms at most; "
      .. "missed by ports meanwhile: %s"):format(b.cut.seconds * 1e3,
      b.cut.longest * 1e3, commas(b.cut.missed)))
  end
  if b.changes == 0 then return end
  print(("configured %s times while running: %.1f ms in all, %.2f ms at most; "
    .. "missed by ports meanwhile: %s"):format(commas(b.changes), b.seconds * 1e3,
    b.longest * 1e3, commas(b.missed)))
end

-- The first cause in an app; a region's own loop suffers from its apps' code.
local function first_to_blame(list)
  for _, cause in ipairs(list) do
    if #cause.apps > 0 then return cause end
  end
  return list[1]
end

--- Print the first of the causes in `list` (core.watch.causes) why packets aren't
--- moved by compiled code; nothing if there is none. Only what is interpreted for
--- good counts: whether single aborts matter, a profile must tell.
function report.jit(list)
  local counting = {}
  for _, cause in ipairs(list) do
    if cause.kind == "stitch" or #cause.given_up > 0 then
      counting[#counting + 1] = cause
    end
  end
  local cause = first_to_blame(counting)
  if not cause then return end
  print(("jit: %s is slowed down at %s:%d: %s%s; see `perigee doctor`"):format(
    #cause.apps > 0 and "app '" .. cause.apps[1] .. "'" or cause.region,
    cause.file, cause.line, cause.reason,
    #counting > 1 and (" (and %d more)"):format(#counting - 1) or ""))
end

-- The engine's fields --------------------------------------------------------------

local EVERYTHING = {showload = true, showlinks = true, showapps = true,
                    showpackets = true, showjit = true}

-- Returns what is wrong with the sums, if they don't balance: which they needn't while
-- packets move.
local function show_packets(engine, workers, idle, balance)
  local answers = workers.report()
  local sums = totals.packets(engine.link_table, answers)
  report.cpus(answers.cpus)
  report.packets(sums)
  report.rings(workers.rings())
  report.blocked(blocked)
  for _, line in ipairs(balance()) do print(line) end
  for _, line in ipairs(outside.lines()) do print(line) end
  if idle() and not workers.running() then return report.imbalance(sums) end
end

--- Give `engine` its reports. `inner` as for core.engine.totals.attach; idle() says
--- whether no app is at work; balance() gives lines about what was balanced.
function report.attach(engine, inner)
  local workers = inner.workers

  -- Let each app report; the errors that they raised.
  local function report_apps(where)
    engine.sync()
    local problems = {}
    if next(engine.app_table) or not next(workers.by_cpu) then
      problems = report.apps(engine.app_table, where, drops.of_removed())
    end
    io.stdout:flush()
    for _, problem in ipairs(workers.report(true).problems) do
      problems[#problems + 1] = problem
    end
    return problems
  end

  -- Tell all of them: the last is raised.
  local function raise_last(problems)
    for i = 1, #problems - 1 do
      log.error("%s", tostring(problems[i]))
    end
    local last = problems[#problems]
    if failure.is(last) then error(last, 0) end
    if last then failure.raise("%s", tostring(last)) end
  end

  --- Print the load, links, apps and packets report, or the parts `options`
  --- selects. Raises at its end what apps' report() raised.
  function engine.report(options)
    engine.sync()
    options = options or EVERYTHING
    if options.showlinks then engine.report_links() end
    local problems = options.showapps and report_apps() or {}
    if options.showpackets then
      problems[#problems + 1] = show_packets(engine, workers, inner.idle,
        inner.balance)
    end
    if options.showload then engine.report_load() end
    if options.showjit and not mode.on then report.jit(causes.of(health.problems())) end
    raise_last(problems)
  end

  --- Print the load since engine.main was called, or since the last call.
  function engine.report_load()
    inner.sync(true)
    report.load(totals.load(inner.counters), workers.report().cpus)
  end

  --- Print what each link carried.
  function engine.report_links()
    report.links(engine.link_totals())
  end

  --- Let each app report. Raises at the end what they raised. `where` ("CPU 2") names
  --- the CPU of a worker.
  function engine.report_apps(where) raise_last(report_apps(where)) end
end

return report
