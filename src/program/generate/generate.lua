-- SPDX-License-Identifier: Apache-2.0
-- `perigee generate`: made-up packets to a port, and what became of them.

local engine = require("core.app")
local failure = require("core.failure")
local clock = require("core.lib.clock")
local files = require("core.lib.files")
local commands = require("program.generate.commands")
local course = require("program.generate.course")
local graph = require("program.generate.graph")
local hdr_log = require("lib.traffic.hdr_log")
local live = require("program.generate.live")
local main = require("core.main")
local options_of = require("program.generate.options").parse
local rate = require("lib.traffic.rate")
local report = require("program.generate.report")
local resolve = require("program.generate.resolve")
local results = require("program.generate.results")
local run_results = require("core.engine.results")

local M = {summary = "send generated packets; measure loss, order and latency"}

--- Why --cpus is refused.
M.one_cpu = "one thread keeps to the rate, and counts what is sent and what comes back"

local LATENCIES = {{"LATENCY", "mean"}, {"LATENCY-MEDIAN", "median"},
                   {"LATENCY-P99", "p99"}, {"LATENCY-MAX", "max"}} -- in seconds

-- For --strict: the first stream whose rate wasn't kept.
local function check_kept(list)
  for _, r in ipairs(list) do
    for _, item in ipairs(r.streams or {r}) do
      local kept = item.sent and report.kept(item.sent)
      if kept and kept < report.KEPT then
        failure.raise("the rate%s was not kept: %.1f %% of %s",
          item.name and " of stream " .. item.name or "", 100 * kept,
          rate.text(item.sent.rate))
      end
    end
  end
end

local function unix_seconds() return tonumber(clock.unix_nanoseconds()) / 1e9 end

-- The latencies of each stream, in each direction, since the time `began`.
local function histograms(directions, began)
  local list = {}
  for i, d in ipairs(directions) do
    for _, lane in ipairs(d.lanes) do
      local meter = d.receive and engine.app_table[lane.meter]
      if meter then
        local tag = lane.name or #directions > 1 and "to" or nil
        list[#list + 1] = {tag = i > 1 and tag .. "-back" or tag, start = began,
          seconds = unix_seconds() - began, histogram = meter.latency}
      end
    end
  end
  return list
end

-- What --results prints of the streams: with their names where they are several, and of
-- the way back with BACK.
local function add_results(list)
  for i, r in ipairs(list) do
    for _, item in ipairs(r.streams or {r}) do
      local got = item.received
      local tail = (item.name and "-" .. item.name or "") .. (i > 1 and "-BACK" or "")
      local function add(name, value) run_results.add(name .. tail, value) end
      local l = got and got.latency
      if got then
        add("NOT-RECEIVED", got.lost)
        add("REORDERED", got.reordered)
        add("DUPLICATES", got.duplicates)
      end
      for _, of in ipairs(l and LATENCIES or {}) do add(of[1], l[of[2]] / 1e9) end
    end
  end
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = options_of(args)
  if options.setup then options.setup(options) end
  local stream = io.stdout
  if options.json == "-" or options.json_lines == "-" or options.histogram == "-" then
    stream = io.stderr
  end
  local directions = graph.directions(options)
  engine.busywait = true
  if options.resolve then resolve.run(options, directions[1], stream) end
  engine.busywait = false -- but for what is due, and as long as packets come
  engine.configure(graph.make(directions))
  local began = unix_seconds()
  local lines = options.json_lines and live.start(directions, options.json_lines)
  local run = course.new(directions)
  commands.let_in{options = options, directions = directions, course = run}
  local ok, err, cpu = run:run(options, stream)
  local list = results.all(directions, cpu)
  stream:write(report.all_text(list))
  add_results(list)
  if lines then lines:finish(report.all_json(list)) end
  if options.json then files.save(options.json, report.all_json(list)) end
  if options.histogram then
    files.save(options.histogram, hdr_log.text(histograms(directions, began),
      main.release))
  end
  if not ok then error(err, 0) end
  if options.strict then check_kept(list) end
end

return M
