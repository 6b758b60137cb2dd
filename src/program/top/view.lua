-- SPDX-License-Identifier: Apache-2.0
-- The figures of an instance (lib.observe.sample) as lines of at most 80 columns. Pure.

local comma_value = require("core.lib.values").comma_value
local duration = require("lib.quantity").duration_text
local replica = require("lib.replica.shown")
local sample = require("lib.observe.sample")
local sparkline = require("program.top.sparkline")

local view = {}

local WIDTH = 80

--- The orders that rows can have.
view.orders = {"rate", "name", "drops"}

local HISTORY = 60 -- values of a sparkline

-- Three digits and a prefix: 950, 12.3k, 1.23M.
local function short(value)
  for _, step in ipairs{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} do
    local v = value / step[1]
    if v >= 0.9995 then
      local format = v < 9.995 and "%.2f%s" or v < 99.95 and "%.1f%s" or "%.0f%s"
      return format:format(v, step[2])
    end
  end
  return ("%.0f"):format(value)
end

local function commas(n)
  return comma_value(("%.0f"):format(n))
end

local function seconds(s)
  if s < 1e-3 then return ("%.1f us"):format(s * 1e6) end
  return s < 1 and ("%.2f ms"):format(s * 1e3) or ("%.2f s"):format(s)
end

-- The text in so many columns: what is too long loses its middle.
local function fit(text, width)
  if #text <= width then return text .. (" "):rep(width - #text) end
  local tail = math.floor((width - 2) / 2)
  return text:sub(1, width - 2 - tail) .. ".." .. text:sub(-tail)
end

-- fwd2 before fwd10.
local function natural(name)
  return (name:gsub("%d+", function (digits)
    return ("%03d%s"):format(#digits, digits)
  end))
end

local function ordered(rows, order)
  table.sort(rows, function (a, b)
    local drops_a, drops_b = a.drops or 0, b.drops or 0
    if order == "drops" and drops_a ~= drops_b then return drops_a > drops_b end
    if order ~= "name" and a.pps ~= b.pps then return a.pps > b.pps end
    return natural(a.name) < natural(b.name)
  end)
  return rows
end

-- The rows whose name has the text `filter`, in either case; nil: all.
local function filtered(rows, filter)
  local list = {}
  for _, row in ipairs(rows) do
    if not filter or row.name:lower():find(filter:lower(), 1, true) then
      list[#list + 1] = row
    end
  end
  return list
end

-- A table with a heading: `columns` = {{heading, width, function of a row}, ...}; the
-- first takes what is left of the line. `shown` is what view.lines calls `options`.
local function add_table(lines, rows, order, title, columns, shown)
  rows = filtered(rows, shown and shown.filter)
  if #rows == 0 then return end
  local left = WIDTH
  for _, column in ipairs(columns) do left = left - column[2] end
  local heading = {fit(title, left)}
  for _, column in ipairs(columns) do
    heading[#heading + 1] = ("%" .. column[2] .. "s"):format(column[1])
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = table.concat(heading)
  lines.headings[#lines] = true
  for _, row in ipairs(ordered(rows, order)) do
    local cells = {fit(row.name, left)}
    for _, column in ipairs(columns) do
      cells[#cells + 1] = ("%" .. column[2] .. "s"):format(column[3](row))
    end
    lines[#lines + 1] = table.concat(cells)
  end
end

local function of(field)
  return function (row) return short(row[field]) end
end

local APPS = {
  {"in pps", 10, of("input")}, {"out pps", 10, of("output")},
  {"dropped/s", 11, of("drops")},
  {"code", 13, function (row) return row.interpreted and "interpreted" or "" end},
}
local LINKS = {
  {"pps", 9, of("pps")}, {"bit/s", 9, of("bits")}, {"dropped/s", 11, of("drops")},
  {"waiting", 9, of("waiting")},
}
local TOTALS = {
  {"a second", 12, of("pps")},
  {"total", 22, function (row) return commas(row.packets) end},
}
local WORKERS = {{"pps", 9, of("pps")}, {"breaths/s", 12, of("breaths")}}
local CYCLES = {
  {"a second", 12, of("pps")},
  {"a packet", 12, function (row)
    return row.value and ("%.1f"):format(row.value) or "-"
  end},
}

local function percent(field)
  return function (row) return ("%.0f%%"):format(100 * row[field]) end
end

local TASKS = {
  {"CPU", 9, percent("load")},
  {"CPU time", 12, function (row) return seconds(row.cpu) end},
}
local DEVICES = {
  {"in pps", 9, of("input")}, {"in bit/s", 10, of("input_bits")},
  {"out pps", 9, of("output")}, {"out bit/s", 11, of("output_bits")},
  {"dropped/s", 11, of("drops")},
}
local QUEUES = {
  {"pps", 9, of("pps")}, {"bit/s", 9, of("bits")},
  {"limit", 9, function (row) return row.limit and short(row.limit) or "" end},
  {"dropped/s", 11, of("drops")},
  {"packets", 18, function (row) return commas(row.packets) end},
}

local function jit_line(jit)
  local texts = {}
  for _, name in ipairs{"traces", "aborts", "blacklisted", "flushes", "stitches"} do
    if jit[name] then texts[#texts + 1] = ("%s %s"):format(name, commas(jit[name])) end
  end
  local verdict = jit.problems and jit.problems > 0
    and "packets are slowed down; see perigee doctor"
    or "the packet path is compiled"
  return {"jit     " .. table.concat(texts, ", "), "        " .. verdict}
end

--- "1234 echo [router]" for an instance.
function view.title(instance)
  local name = instance.name and (" [%s]"):format(instance.name) or ""
  return ("%d %s%s"):format(instance.pid, instance.program, name)
end

-- How far replication is (lib.replica.shown), in lines.
local function replication_lines(f)
  local r = f.replication
  if not r then return {} end
  local first, last = replica.texts(r)
  return {fit(("replica %s: %s"):format(f.keeps, first), WIDTH), "        " .. last}
end

local function head(instance, f)
  local e = f.engine
  local title = view.title(instance)
  local times = ("  up %s  over %s"):format(duration(f.uptime), seconds(f.seconds))
  local cycles = e.cycles and short(e.cycles) or "-"
  local lines = {
    fit(title, math.min(#title, WIDTH - #times)) .. times,
    ("load    %spps  %sbit/s  %.0f%% CPU  %s cycles/packet  %.0f byte/packet"):format(
      short(e.pps), short(e.bits), 100 * e.load, cycles, e.size),
  }
  lines.headings = {true}
  for _, line in ipairs(replication_lines(f)) do lines[#lines + 1] = line end
  if e.breaths == 0 and #f.devices > 0 then return lines end -- it has no engine
  local at = #lines + 1
  lines[at] = ("breath  %s/s  %.1f packets each"):format(short(e.breaths), e.burst)
  if f.latency and f.latency.greatest > 0 then
    lines[at] = lines[at] .. ("  %s on average, %s at most"):format(
      seconds(f.latency.average), seconds(f.latency.greatest))
  end
  if e.sleeps > 0 then
    lines[#lines + 1] = ("sleep   %s/s  %s/s ended as something came"):format(
      short(e.sleeps), short(e.wakeups))
  end
  for _, line in ipairs(f.jit and jit_line(f.jit) or {}) do lines[#lines + 1] = line end
  return lines
end

--- Packets and drops a second of an instance, of its figures.
function view.rates(f)
  return f.engine.pps, sample.dropped(f)
end

-- Packets and drops over the last looks, as bars.
local function add_history(lines, history)
  local function add(title, values, unit)
    local bars, most = sparkline.text(values, HISTORY)
    if unit == "pps" or most > 0 then
      lines[#lines + 1] = ("%-8s%s %s%s"):format(title, bars, short(most), unit)
    end
  end
  add("history", history.pps, "pps")
  add("drops", history.drops, "/s")
end

--- The figures `f` of the instance as an array of lines; `headings` in it is the set of
--- the numbers of heading lines. `order` is one of view.orders. `options`, all
--- optional: filter = only rows with that text in their name, history = {pps =,
--- drops =}, lists of the last looks.
function view.lines(instance, f, order, options)
  local lines = head(instance, f)
  if options and options.history then add_history(lines, options.history) end
  local function add(rows, title, columns)
    add_table(lines, rows, order, title, columns, options)
  end
  add(f.drops, "DROPPED", TOTALS)
  add(f.tasks, "TASKS", TASKS)
  add(f.devices, "DEVICES", DEVICES)
  add(f.queues, "QUEUES", QUEUES)
  add(f.apps, "APPS", APPS)
  add(f.links, "LINKS", LINKS)
  add(f.workers, "WORKERS", WORKERS)
  add(f.cycles, f.core_hz
    and ("CYCLES OF THE TSC (the core runs at %sHz)"):format(short(f.core_hz))
    or "CYCLES OF THE TSC", CYCLES)
  add(f.others, "COUNTERS OF APPS", TOTALS)
  return lines
end

local LIST = {
  {"pps", 9, of("pps")}, {"bit/s", 9, of("bits")}, {"CPU", 7, percent("load")},
  {"dropped/s", 11, of("drops")},
  {"up", 9, function (row) return duration(row.uptime) end},
}

--- A line for each of several instances: `pairs_of` is a list of {instance, figures}.
--- `options` as of view.lines.
function view.list(pairs_of, order, options)
  local rows = {}
  for i, pair in ipairs(pairs_of) do
    local f = pair[2]
    local pps, dropped = view.rates(f)
    rows[i] = {name = view.title(pair[1]), pps = pps, bits = f.engine.bits,
               load = f.engine.load, drops = dropped, uptime = f.uptime}
  end
  local lines = {headings = {}}
  add_table(lines, rows, order, "INSTANCES", LIST, options)
  if #lines == 0 then return {"no instance has that in its name", headings = {}} end
  table.remove(lines, 1)
  lines.headings = {true}
  return lines
end

--- What keys do.
view.HELP = {
  "KEYS", "q, Escape             end", "space                 pause, go on",
  "s                     sort by rate, name, drops",
  "/TEXT Enter           show only rows with TEXT in their name; Escape: all again",
  "up, down, page up/down  scroll",
  "left, right           the next instance",
  "l                     list all instances",
  "h, ?                  this; any key: back",
  headings = {true},
}

return view
