-- SPDX-License-Identifier: Apache-2.0
-- Measures one kind of port, in a process of its own: `perigee model measure KIND`.
-- Writes a line of JSON for each thing it knows, for the parent (model.all).

local cjson = require("cjson")
local Bench = require("program.model.laboratory.bench")
local C = require("core.native")
local config = require("core.config")
local engine = require("core.app")
local errors = require("program.model.laboratory.errors")
local fit = require("program.model.laboratory.fit")
local Port = require("apps.port.port").Port

local M = {}

local FULL = {
  bursts = {1, 2, 4, 8, 16, 32, 64, 128, 256},
  sizes = {64, 128, 256, 512, 1024, 1280, 1518}, -- bytes with CRC
  rounds = 11, seconds = 0.006,
}
local QUICK = {bursts = {1, 32, 256}, sizes = {64, 512, 1518}, rounds = 5,
               seconds = 0.004}
local CAPTURED = 2048 -- packets in the file that a pcap port reads over and over
local LEAST_TASK = 125
local TASKS = {1, 2, 4, 8} -- times half of what a packet takes, or LEAST_TASK
local CHECKED_TASKS = {0, 50, 150, 350, 700, 1000} -- to see what the model is worth
local CHECKED_BURSTS = {[32] = true, [128] = true}
local DISTURBED = 0.05 -- the same, measured twice, differs by more

local function say(message)
  io.write(cjson.encode(message), "\n")
  io.flush()
end

-- One measurement for each task, in an order that begins elsewhere each time: what
-- changes slowly on this machine meets all tasks alike. Before and after them there is
-- one without a task. The points, {task, cycles, packets a breath}; how much the two
-- without a task differ; and the first of these.
local function round(bench, tasks, number, seconds)
  local points, first = {}, {0, bench:point(0, seconds)}
  for k = 1, #tasks do
    local i = (k + 3 * number) % #tasks + 1
    points[i] = {tasks[i], bench:point(tasks[i], seconds)}
  end
  local last = bench:point(0, seconds)
  return points, math.abs(last / first[2] - 1), first
end

-- So many rounds; those that were disturbed are repeated, but no more of them than
-- there are to be. The rounds that count for the fit, each with the point without a
-- task and those of `tasks`; those to check it with; how many were repeated.
local function rounds(bench, tasks, checked, how)
  local all, fitted, checks, repeated = {}, {}, {}, 0
  for i, task in ipairs(tasks) do all[i] = task end
  for _, task in ipairs(checked) do all[#all + 1] = task end
  while #fitted < how.rounds do
    local points, off, first = round(bench, all, #fitted + repeated, how.seconds)
    if off > DISTURBED and repeated < how.rounds then
      repeated = repeated + 1
    else
      fitted[#fitted + 1] = {first, unpack(points, 1, #tasks)}
      checks[#fitted] = {unpack(points, #tasks + 1)}
    end
  end
  return fitted, checks, repeated
end

-- One cell of the table: C_IO at a burst and size; and throughput with the tasks of the
-- list `checked`, which the fit doesn't see.
local function cell(bench, burst, size, checked, how)
  bench:burst(burst)
  local unit, tasks = math.max(LEAST_TASK, bench:point(0, how.seconds) / 2), {}
  for i, times in ipairs(TASKS) do tasks[i] = unit * times end
  local fitted, checks, repeated = rounds(bench, tasks, checked, how)
  local solved = fit.solve(fitted)
  solved.type, solved.burst, solved.size, solved.rounds = "cell", burst, size, fitted
  solved.repeated = repeated
  solved.receive, solved.send, solved.engine = bench:shares()
  say(solved)
  for _, row in ipairs(errors.rows(solved, checks)) do
    row.type, row.burst, row.size = "check", burst, size
    say(row)
  end
  return {fitted = fitted, checks = checks}
end

local function measure(bench, how)
  local most, checked = bench.kind.most or math.huge, {}
  bench:size(how.sizes[1])
  for _, burst in ipairs(how.bursts) do
    if burst <= most then
      local tasks = CHECKED_BURSTS[burst] and CHECKED_TASKS or {}
      local c = cell(bench, burst, how.sizes[1], tasks, how)
      if #tasks > 0 then checked[#checked + 1] = c end
    end
  end
  for i = 2, #how.sizes do
    bench:size(how.sizes[i])
    cell(bench, math.min(32, most), how.sizes[i], {}, how)
  end
  local median, low, high, worst = errors.of(checked)
  say{type = "error", median = median, low = low, high = high, worst = worst}
end

local function write_capture(folder)
  local file = assert(io.open(folder .. "/in.pcap", "wb"))
  file:write("\212\195\178\161\2\0\4\0", ("\0"):rep(8), "\255\255\0\0\1\0\0\0")
  for _ = 1, CAPTURED do
    file:write(("\0"):rep(8), "\60\0\0\0\60\0\0\0", ("\0"):rep(60))
  end
  file:close()
end

--- Measure `kind` (model.kinds); sockets and files go into `folder`.
function M.run(kind, folder, options)
  if kind.capture then write_capture(folder) end
  engine.busywait, engine.count_cycles = true, false
  measure(Bench.new(kind, folder), options.quick and QUICK or FULL)
  -- The end that connected is closed first.
  local c = config.new()
  config.app(c, "receive", Port, engine.configuration.apps.receive.arg)
  engine.configure(c)
  say{type = "core", core_per_tsc = C.pg_core_per_tsc(), done = true,
      tsc_hz = tonumber(C.pg_tsc_hz())}
end

return M
