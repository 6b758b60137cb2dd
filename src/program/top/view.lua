-- SPDX-License-Identifier: Apache-2.0
-- The figures of an instance (program.top.sample) as lines of at most 80 columns. Pure.

local comma_value = require("core.lib.values").comma_value
local duration = require("program.ps.ps").duration

local view = {}

local WIDTH = 80

--- The orders that rows can have.
view.orders = {"rate", "name"}

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
  local list = {}
  for i, row in ipairs(rows) do list[i] = row end
  table.sort(list, function (a, b)
    if order == "rate" and a.pps ~= b.pps then return a.pps > b.pps end
    return natural(a.name) < natural(b.name)
  end)
  return list
end

-- A table with a heading: `columns` = {{heading, width, function of a row}, ...}; the
-- first takes what is left of the line.
local function add_table(lines, rows, order, title, columns)
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
  if e.breaths == 0 and #f.devices > 0 then return lines end -- it has no engine
  lines[3] = ("breath  %s/s  %.1f packets each"):format(short(e.breaths), e.burst)
  if f.latency and f.latency.greatest > 0 then
    lines[3] = lines[3] .. ("  %s on average, %s at most"):format(
      seconds(f.latency.average), seconds(f.latency.greatest))
  end
  if e.sleeps > 0 then
    lines[4] = ("sleep   %s/s  %s/s ended as something came"):format(short(e.sleeps),
      short(e.wakeups))
  end
  for _, line in ipairs(f.jit and jit_line(f.jit) or {}) do lines[#lines + 1] = line end
  return lines
end

--- The figures `f` of the instance as an array of lines; `headings` in it is the set of
--- the numbers of heading lines. `order` is one of view.orders.
function view.lines(instance, f, order)
  local lines = head(instance, f)
  add_table(lines, f.tasks, order, "TASKS", TASKS)
  add_table(lines, f.devices, order, "DEVICES", DEVICES)
  add_table(lines, f.queues, order, "QUEUES", QUEUES)
  add_table(lines, f.apps, order, "APPS", APPS)
  add_table(lines, f.links, order, "LINKS", LINKS)
  add_table(lines, f.drops, order, "DROPPED", TOTALS)
  add_table(lines, f.workers, order, "WORKERS", WORKERS)
  add_table(lines, f.cycles, order, f.core_hz
    and ("CYCLES OF THE TSC (the core runs at %sHz)"):format(short(f.core_hz))
    or "CYCLES OF THE TSC", CYCLES)
  add_table(lines, f.others, order, "COUNTERS OF APPS", TOTALS)
  return lines
end

local LIST = {
  {"pps", 9, of("pps")}, {"bit/s", 9, of("bits")}, {"CPU", 7, percent("load")},
  {"dropped/s", 11, of("drops")},
  {"up", 9, function (row) return duration(row.uptime) end},
}

--- A line for each of several instances: `pairs_of` is a list of {instance, figures}.
function view.list(pairs_of, order)
  local rows = {}
  for i, pair in ipairs(pairs_of) do
    local f, dropped = pair[2], 0
    for _, d in ipairs(f.drops) do dropped = dropped + d.pps end
    for _, d in ipairs(f.devices) do dropped = dropped + d.drops end
    rows[i] = {name = view.title(pair[1]), pps = f.engine.pps, bits = f.engine.bits,
               load = f.engine.load, drops = dropped, uptime = f.uptime}
  end
  local lines = {headings = {}}
  add_table(lines, rows, order, "INSTANCES", LIST)
  table.remove(lines, 1)
  lines.headings = {true}
  return lines
end

return view
