-- SPDX-License-Identifier: Apache-2.0
-- `perigee model predict`: the model's answer for one C_task, frequency and line.

local cjson = require("cjson")
local failure = require("core.failure")
local files = require("core.lib.files")
local fit = require("program.model.laboratory.fit")
local plot_file = require("lib.picture.plot_file")
local report = require("core.engine.report")
local results = require("core.engine.results")

local M = {}

local POINTS = 80 -- of a curve

-- Is it a table that has a number under each of these names, and none or a number under
-- each of `others`?
local function has_numbers(t, names, others)
  if type(t) ~= "table" then return false end
  for _, name in ipairs(names) do
    if type(t[name]) ~= "number" then return false end
  end
  for _, name in ipairs(others or {}) do
    if t[name] ~= nil and type(t[name]) ~= "number" then return false end
  end
  return true
end

local function is_port(port)
  if type(port) ~= "table" or type(port.name) ~= "string"
      or port.cells ~= nil and type(port.cells) ~= "table" then
    return false
  end
  port.cells = port.cells or {} -- of one that couldn't be measured
  for _, cell in pairs(port.cells) do
    if not has_numbers(cell, {"burst", "size", "io"}, {"receive", "send"}) then
      return false
    end
  end
  return port.model == nil
    or has_numbers(port.model, {"per_packet", "per_burst", "per_byte", "error"})
end

-- Has it what is read below, and by program.model.compose?
local function complete(result)
  if not has_numbers(result, {"core_per_tsc", "tsc_hz"})
      or type(result.ports) ~= "table" then
    return false
  end
  for _, port in pairs(result.ports) do
    if not is_port(port) then return false end
  end
  return true
end

--- What `perigee model` wrote to `file`; or nil and a sentence.
function M.read(file)
  if not files.can_read(file) then
    return nil, ("there is no file %s; run `perigee model` first"):format(file)
  end
  local text, problem = files.text(file)
  if not text then return nil, "can't read " .. problem end
  local ok, result = pcall(cjson.decode, text)
  if not ok or not complete(result) then
    return nil, ("%s isn't what `perigee model` writes"):format(file)
  end
  return result
end

local function read(file)
  local result, problem = M.read(file)
  return result or failure.usage("%s; or give C_IO with --io", problem)
end

-- The kind of port in what was measured.
local function find(result, name)
  local names = {}
  for _, port in ipairs(result.ports) do
    if port.name == name and port.model then return port end
    if port.model then names[#names + 1] = port.name end
  end
  failure.usage("the model has no port '%s'; it has: %s", name,
    #names > 0 and table.concat(names, ", ") or "none")
end

--- C_IO in core cycles and how it is known: what was measured at that burst and size,
--- or else the fitted line.
function M.io(result, name, burst, size)
  local port = find(result, name)
  for _, cell in ipairs(port.cells) do
    if cell.burst == burst and cell.size == size then
      return cell.io * result.core_per_tsc, "measured"
    end
  end
  return fit.io_of(port.model, burst, size) * result.core_per_tsc,
    ("fitted, off by %.1f %%"):format(100 * port.model.error)
end

-- The rate by C_task, up to four times the one that was asked for.
local function figures(io_cycles, ghz, options, p)
  local cpu, whole = {}, {}
  local most = 4 * math.max(options.task, io_cycles, 1)
  for i = 0, POINTS do
    local task = math.max(most * i / POINTS, io_cycles > 0 and 0 or most / POINTS)
    local at = fit.predict{io = io_cycles, task = task, hz = ghz * 1e9,
                           line = options.line, size = options.size}
    cpu[#cpu + 1], whole[#whole + 1] = {task, at.cpu_rate}, {task, at.rate}
  end
  return {{title = "Packets a second by what an app's work takes",
    series = {{name = "the CPU", points = options.line and cpu or {}},
      {name = "predicted", points = whole},
      {name = "asked for", points = {{options.task, p.rate}}}},
    x = "C_task, cycles a packet", y = "packets a second",
    caption = ("C_IO: %.1f cycles; %.2f GHz; frames of %d bytes"):format(io_cycles, ghz,
      options.size)}}
end

--- Print the prediction for `options`, those of the command line.
function M.run(options)
  local io_cycles, how, ghz = options.io, "as given", options.ghz
  if not io_cycles or not ghz then
    local result = read(options.model)
    if not io_cycles then
      io_cycles, how = M.io(result, options.port, options.burst, options.size)
      how = ("%s, %s, burst %d"):format(how, options.port, options.burst)
    end
    ghz = ghz or result.core_per_tsc * result.tsc_hz / 1e9
  end
  if io_cycles + options.task == 0 then
    failure.usage("--io and --task are both 0: nothing would take any time")
  end
  local p = fit.predict{io = io_cycles, task = options.task, hz = ghz * 1e9,
                        line = options.line, size = options.size}
  if not (p.cpu_rate > 0 and p.cpu_rate < math.huge) then
    failure.usage("%g cycles a packet at %g GHz can't be reckoned with",
      io_cycles + options.task, ghz)
  end
  results.add("PPS", p.rate)
  plot_file.write(options.plot, "model predict", figures(io_cycles, ghz, options, p))
  if options.json then
    return print(cjson.encode{
      report = "model predict", hz = ghz * 1e9, io = io_cycles, io_from = how,
      task = options.task, busy = p.busy, size = options.size, pps = p.rate,
      limit = p.limit, cpu_pps = p.cpu_rate, line_rate = options.line,
      line_pps = options.line and p.line_rate})
  end
  print(("F_CPU = T * (C_IO + C_task + C_busy): %.2f GHz = T * (%.1f + %g + %.1f)")
    :format(ghz, io_cycles, options.task, p.busy))
  print(("C_IO:  %.1f cycles (%s)"):format(io_cycles, how))
  print(("CPU:   %s"):format(report.si(p.cpu_rate, "pps")))
  if options.line then
    print(("line:  %s (%g Gbit/s, frames of %d bytes)"):format(
      report.si(p.line_rate, "pps"), options.line / 1e9, options.size))
  end
  print(("T =    %s: %s"):format(report.si(p.rate, "pps"), p.limit == "cpu"
    and "the CPU is the limit"
    or ("the line is the limit; the CPU has %.0f cycles a packet left"):format(p.busy)))
end

return M
