-- SPDX-License-Identifier: Apache-2.0
-- What engine.main prints at its end, and programs when they like.

local C = require("core.native")
local account = require("core.engine.account")
local config = require("core.config")
local counter = require("core.counter")
local cycles_report = require("core.watch.cycles_report")
local drops = require("core.fuse.drops")
local failure = require("core.failure")
local lib = require("core.lib")

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

--- A moment to measure load from: {time, cpu, breaths, frees, bits, ...}.
function report.snapshot(counters)
  cycles_report.begin()
  account.sync(counters)
  return {
    time = C.pg_monotonic(), cpu = C.pg_cpu_seconds(), tsc = C.pg_tsc(),
    breaths = tonumber(counter.read(counters.breaths)),
    frees = tonumber(counter.read(counters.frees)),
    bytes = tonumber(counter.read(counters.freebytes)),
    bits = tonumber(counter.read(counters.freebits)),
  }
end

local function numbers_of(cpus)
  local numbers = {}
  for cpu in pairs(cpus) do numbers[#numbers + 1] = cpu end
  table.sort(numbers)
  return numbers
end

-- Where the cycles of the main thread went, and those of workers.
local function cycles(spent, cpus)
  local numbers = numbers_of(cpus)
  cycles_report.print(spent, #numbers > 0 and "main thread: " or nil)
  for _, cpu in ipairs(numbers) do
    cycles_report.print(cpus[cpu].cycles, ("CPU %d: "):format(cpu))
  end
end

--- Print rate, CPU use and cost since `before` (a snapshot), and where the cycles
--- went, also those of workers, {[CPU] = {cycles = what core.watch.cycles_report gives
--- of it}}; the snapshot of now.
function report.load(counters, before, cpus)
  local spent = cycles_report.since()
  local now = report.snapshot(counters)
  local time, cpu = now.time - before.time, now.cpu - before.cpu
  local packets, breaths = now.frees - before.frees, now.breaths - before.breaths
  print(("load: %s  %s on the wire  %.0f%% CPU  %.1f cycles/packet  "
    .. "%.1f packets/breath  %d byte/packet  (%.2f s)"):format(
    report.si(share(packets, time), "pps"),
    report.si(share(now.bits - before.bits, time), "bit/s"),
    100 * share(cpu, time), share(cpu * tonumber(C.pg_tsc_hz()), packets),
    share(packets, breaths), share(now.bytes - before.bytes, packets), time))
  cycles(spent, cpus)
  return now
end

--- Print each link's totals, {[SPEC] = what link.stats gives}.
function report.links(totals)
  print("link report:")
  for _, spec in ipairs(natural_order(totals)) do
    local stats = totals[spec]
    print(("%20s sent on %s (loss rate: %d%%)%s"):format(commas(stats.txpackets),
      spec, 100 * share(stats.txdrop, stats.txpackets + stats.txdrop),
      stats.txdrop > 0 and ("  %s dropped: link full"):format(commas(stats.txdrop))
        or ""))
  end
end

-- The counters an app has in shared memory ("dropped 3  hits 12,000"), or nil.
local function counters_of(app)
  local specs, parts = app.shm and app.shm.specs or {}, {}
  for _, name in ipairs(config.sorted_keys(specs)) do
    if specs[name][1] == counter and name ~= "dtime" then
      parts[#parts + 1] = ("%s %s"):format(name, commas(counter.read(app.shm[name])))
    end
  end
  return #parts > 0 and table.concat(parts, "  ") or nil
end

-- What the engine has counted for the app, as lines: its counters in shared memory,
-- unless it reports itself, and its drops by name.
local function lines_of(app)
  local lines, dropped = {}, drops.of(app)
  if not app.report then lines[1] = counters_of(app) end
  for _, reason in ipairs(config.sorted_keys(dropped)) do
    lines[#lines + 1] = ("%s dropped: %s"):format(commas(dropped[reason]), reason)
  end
  return lines
end

--- Let each app that can report do so; print what the engine has counted for it.
--- `where` names the CPU of a worker. Returns the first error that a report() raised,
--- if any: the others report all the same.
function report.apps(apps, where)
  print(where and ("app report, %s:"):format(where) or "app report:")
  local problem
  for _, name in ipairs(natural_order(apps)) do
    local app, lines = apps[name], lines_of(apps[name])
    if app.report or #lines > 0 then print(name) end
    local ok, err = true, nil
    if app.report then ok, err = xpcall(app.report, failure.explain, app) end
    if not ok then problem = problem or failure.in_app(name, "report", err) end
    for _, line in ipairs(lines) do print("  " .. line) end
  end
  return problem
end

--- Print where every packet went: the sums `a` of account.packets.
function report.packets(a)
  local rings = account.has_others()
    and (" + between CPUs %s"):format(commas(a.in_rings)) or ""
  print(("packets: received %s + allocated %s = sent %s + freed %s + "
    .. "dropped by ports %s + in links %s%s + held by apps %s"):format(
    commas(a.received), commas(a.allocated), commas(a.sent), commas(a.freed),
    commas(a.port_drops), commas(a.in_links), rings, commas(a.held)))
end

--- Print what each worker did, {[CPU] = {packets =, breaths =, seconds =, dead =,
--- node = NUMA node of its packets, -1: there is only one}}.
function report.cpus(cpus)
  for _, cpu in ipairs(numbers_of(cpus)) do
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
--- were any while packets moved.
function report.blocked(b)
  if b.changes == 0 then return end
  print(("configured %s times while running: %.1f ms in all, %.2f ms at most; "
    .. "missed by ports meanwhile: %s"):format(commas(b.changes), b.seconds * 1e3,
    b.longest * 1e3, commas(b.missed)))
end

-- The first cause in an app; a region's own loop suffers from its apps' code.
local function first_to_blame(causes)
  for _, cause in ipairs(causes) do
    if #cause.apps > 0 then return cause end
  end
  return causes[1]
end

--- Print the first of the `causes` (core.watch.causes) why packets aren't
--- moved by compiled code; nothing if there is none. Only what is interpreted for
--- good counts: whether single aborts matter, a profile must tell.
function report.jit(causes)
  local counting = {}
  for _, cause in ipairs(causes) do
    if cause.kind == "stitch" or #cause.given_up > 0 then
      counting[#counting + 1] = cause
    end
  end
  local cause = first_to_blame(counting)
  if not cause then return end
  print(("jit: %s is slowed down at %s:%d: %s%s; `perigee doctor` tells more"):format(
    #cause.apps > 0 and "app '" .. cause.apps[1] .. "'" or cause.region,
    cause.file, cause.line, cause.reason,
    #counting > 1 and (" (and %d more)"):format(#counting - 1) or ""))
end

return report
