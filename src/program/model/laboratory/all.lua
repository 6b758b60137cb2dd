-- SPDX-License-Identifier: Apache-2.0
-- The whole measurement: each kind of port and memory in processes of their own, one
-- after the other, with progress; then the tables, the JSON, the plots, the report.

local cjson = require("cjson")
local stdlib = require("posix.stdlib")
local unistd = require("posix.unistd")
local stdio = require("posix.stdio")
local C = require("core.native")
local check = require("lib.port.check")
local children = require("program.model.laboratory.children")
local failure = require("core.failure")
local files = require("core.lib.files")
local fit = require("program.model.laboratory.fit")
local html = require("program.model.laboratory.html")
local kinds = require("program.model.laboratory.kinds")
local main = require("core.main")
local spec = require("lib.port.spec")
local tables = require("program.model.laboratory.table")
local testpmd = require("program.model.laboratory.testpmd")

local M = {}

local ERASE_LINE = "\r\27[K"

-- Progress on stderr: on a terminal one line, elsewhere a line for each part.
local Progress = {}
Progress.__index = Progress

local function progress(parts)
  return setmetatable({parts = parts, part = 0, began = C.pg_monotonic(),
    terminal = unistd.isatty(stdio.fileno(io.stderr)) == 1}, Progress)
end

function Progress:show(fmt, ...)
  local text = ("[%d/%d, %.0f s] "):format(self.part, self.parts,
    C.pg_monotonic() - self.began) .. fmt:format(...)
  io.stderr:write(self.terminal and ERASE_LINE .. text or text .. "\n")
  io.stderr:flush()
end

function Progress:next(what)
  self.part = self.part + 1
  self:show("%s", what)
end

function Progress:finish()
  if self.terminal then io.stderr:write(ERASE_LINE) end
end

-- The device must be there: else this would be said after minutes.
local function device_of(address)
  local kind = kinds.find(address)
    or failure.usage("'%s' is neither `predict` nor `check`, nor a PCI address such as "
      .. "0000:01:00.0; see `perigee model --help`", address)
  check.ready(spec.parse(kind.receive))
  if kind.send then check.ready(spec.parse(kind.send)) end
  return kind
end

-- The kinds of port to measure.
local function wanted(options)
  local list = {}
  if options.ports and not options.ports:find("[^,]") then
    failure.usage("--ports: no kind of port is named; there are: %s",
      table.concat(kinds.names(), ", "))
  elseif not options.ports then
    for _, kind in ipairs(kinds.list) do list[#list + 1] = kind end
  else
    for name in options.ports:gmatch("[^,]+") do
      list[#list + 1] = kinds.find(name)
        or failure.usage("there is no kind of port '%s' to measure; there are: %s",
          name, table.concat(kinds.names(), ", "))
    end
  end
  for _, address in ipairs(options.pci) do list[#list + 1] = device_of(address) end
  return list
end

local function measure_port(kind, folder, options, shown)
  local port = {name = kind.name, cells = {}, checks = {}}
  local function seen(message)
    if message.type == "cell" then
      table.insert(port.cells, message)
      if shown.terminal then
        shown:show("%s: burst %d, %d bytes: %.1f cycles", kind.name, message.burst,
          message.size, message.io)
      end
    elseif message.type == "check" then
      table.insert(port.checks, message)
    elseif message.type == "error" then
      port.error, port.worst_error = message.median, message.worst
      port.error_low, port.error_high = message.low, message.high
    elseif message.type == "core" then
      port.core_per_tsc, port.tsc_hz = message.core_per_tsc, message.tsc_hz
    end
  end
  local words = {"model", "measure", kind.name, folder}
  if options.quick then words[#words + 1] = "quick" end
  local function run(plain)
    port.cells, port.checks = {}, {}
    port.problem = children.run(words, seen, function (command)
      return kinds.command(kind, command, unistd.geteuid() == 0)
    end, plain)
  end
  run(false)
  -- Others may have taken the hugepages meanwhile.
  if port.problem and port.problem:find("memory") then run(true) end
  if port.problem and kind.namespace and unistd.geteuid() ~= 0 then
    port.problem = port.problem .. " (without root; as root it may be possible)"
  end
  if not port.problem then
    port.model = fit.io(port.cells)
  end
  return port
end

local function measure_memory(options)
  local rows = {}
  local words = {"model", "memory"}
  if options.quick then words[#words + 1] = "quick" end
  local problem = children.run(words, function (message)
    if message.type == "memory" then rows[#rows + 1] = message end
  end)
  return rows, problem
end

-- What was measured in this run by perigee beside each of testpmd's rows.
local function beside(rows, ports)
  for _, row in ipairs(rows) do
    for _, port in ipairs(ports) do
      for _, cell in ipairs(port.cells) do
        if port.name == row.port and cell.burst == row.burst and cell.size == 64 then
          row.perigee = cell.io
        end
      end
    end
  end
  return rows
end

local function cpu_name()
  local file = io.open("/proc/cpuinfo")
  local text = file and file:read("*a") or ""
  if file then file:close() end
  return text:match("model name%s*: ([^\n]*)") or "unknown"
end

local function make_directory(path)
  local ok = os.execute("mkdir -p " .. children.quoted(path))
  if ok ~= 0 and ok ~= true then failure.raise("can't make the folder %s", path) end
end

-- Draw the figures with matplotlib; why not, if it can't.
local function plot(directory)
  local script = main.root .. "/src/program/model/laboratory/plot.py"
  local pipe = io.popen(("PYTHONDONTWRITEBYTECODE=1 PATH=/usr/bin:\"$PATH\" "
    .. "python3 %s %s 2>&1 && echo done"):format(children.quoted(script),
    children.quoted(directory)))
  local text = pipe:read("*a")
  pipe:close()
  if not text:find("done\n$") then
    return text:match("([^\n]+)\n?$") or "python3 failed"
  end
end

-- Core cycles in a TSC cycle while ports were measured.
local function clock(ports)
  local all = {}
  for _, port in ipairs(ports) do all[#all + 1] = port.core_per_tsc end
  return #all > 0 and fit.median(all) or C.pg_core_per_tsc()
end

-- The result as JSON: cjson takes an empty list for an object, so there is none.
local function json(result)
  local function list(items) return #items > 0 and items or nil end
  local copy = {report = "model", ports = {}}
  for key, value in pairs(result) do
    if key ~= "ports" then copy[key] = value end
  end
  copy.memory = list(result.memory)
  for i, port in ipairs(result.ports) do
    copy.ports[i] = {}
    for key, value in pairs(port) do copy.ports[i][key] = value end
    copy.ports[i].cells, copy.ports[i].checks = list(port.cells), list(port.checks)
  end
  return cjson.encode(copy) .. "\n"
end

--- Measure everything `options` ask for, print it, and write it to options.out.
function M.run(options)
  local list = wanted(options)
  make_directory(options.out)
  -- Rather fail now than when all is measured.
  files.save(options.out .. "/model.txt", "")
  local result = {ports = {}, memory = {}, cpu = cpu_name(),
                  date = os.date("!%Y-%m-%d %H:%M UTC")}
  local shown = progress(#list + (options.no_memory and 0 or 1)
    + (options.vs and 1 or 0))
  local folder = assert(stdlib.mkdtemp((os.getenv("TMPDIR") or "/tmp") .. "/pgXXXXXX"))
  local ok, err = pcall(function ()
    for i, kind in ipairs(list) do
      shown:next(kind.name)
      result.ports[i] = measure_port(kind, folder, options, shown)
    end
    if not options.no_memory then
      shown:next("memory")
      result.memory, result.memory_problem = measure_memory(options)
    end
    if options.vs then
      shown:next("testpmd")
      local rows, problem = testpmd.run()
      if rows then
        result.testpmd = beside(rows, result.ports)
      else
        io.stderr:write("perigee: no comparison with testpmd: ", problem, "\n")
      end
    end
  end)
  os.execute("rm -rf " .. children.quoted(folder))
  shown:finish()
  if not ok then error(err, 0) end
  result.core_per_tsc, result.tsc_hz = clock(result.ports), tonumber(C.pg_tsc_hz())
  result.seconds = C.pg_monotonic() - shown.began
  local text = tables.text(result)
  io.write(text)
  files.save(options.out .. "/model.json", json(result))
  files.save(options.out .. "/model.txt", text)
  local problem = plot(options.out)
  if problem then print("no plots: " .. problem) end
  files.save(options.out .. "/report.html", html.page(result, text, options.out))
  print(("\n%s/report.html, model.json, model.txt and figures; %.0f seconds"):format(
    options.out, result.seconds))
end

return M
