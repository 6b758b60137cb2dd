-- SPDX-License-Identifier: Apache-2.0
-- `perigee connect`: TCP connections from many addresses, to servers or as servers, and
-- what became of each.

local C = require("core.native")
local cli = require("lib.cli")
local commands = require("program.connect.commands")
local course = require("program.connect.course")
local failure = require("core.failure")
local files = require("core.lib.files")
local graph = require("program.connect.graph")
local options_of = require("program.connect.options").parse
local plot = require("program.connect.plot")
local plot_file = require("lib.picture.plot_file")
local report = require("program.connect.report")
local run_results = require("core.engine.results")

local M = {summary = "open and serve TCP connections by the million; measure them"}

--- Why --cpus is refused.
M.one_cpu = "one thread has the connections, and counts them"

local RESULTS = {"started", "established", "closed", "reset", "refused", "timed_out",
                 "aborted", "answers"}

-- What --results prints of a side.
local function add_results(side)
  for _, name in ipairs(RESULTS) do
    run_results.add(name:upper():gsub("_", "-") .. "-" .. side.name:upper(),
      side.counts[name])
  end
end

-- Were connections tried, and all of them in vain?
local function check_ends(sides)
  local c = sides[1].counts
  local failed = c.refused + c.reset + c.timed_out
  if sides[1].name ~= "client" or c.established > 0 or failed == 0 then return end
  failure.raise("none of %.0f connections was established: %.0f refused, "
    .. "%.0f timed out, %.0f reset", c.started, c.refused, c.timed_out, c.reset)
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = options_of(args)
  local stream = cli.text_stream(options.json)
  local sides = graph.configure(options)
  commands.let_in(sides)
  local before = C.pg_cpu_seconds()
  local samples = options.plot and plot.sample(sides)
  local ok, err, seconds = course.run(sides, options, stream)
  local results = report.results(sides, seconds, C.pg_cpu_seconds() - before)
  stream:write(report.text(results))
  for _, side in ipairs(results.sides) do add_results(side) end
  if options.json then files.save(options.json, report.json(results)) end
  if samples then
    plot_file.write(options.plot, "connect", plot.figures(samples(), results))
  end
  if not ok then error(err, 0) end
  check_ends(results.sides)
end

return M
