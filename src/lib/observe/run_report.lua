-- SPDX-License-Identifier: Apache-2.0
-- What engine.main's report says, as JSON, for those who go on with it: the sum over
-- packets, links, and drops and counters of apps.

local cjson = require("cjson")
local cli = require("lib.cli")
local counted = require("lib.observe.counted")
local files = require("core.lib.files")

local run_report = {}

--- The report of the run so far as a table: `packets`, the account of packets (the
--- names are those of core.engine.account); `links`, what each has carried; `apps`, by
--- name: counters, and drops by reason.
function run_report.of() return (counted.graph()) end

--- Add the option --json to a program's argparse parser.
function run_report.option(parser)
  parser:option("--json", "Also write the report as JSON to FILE; -: to standard "
    .. "output, and nothing else."):argname("FILE"):convert(cli.result)
end

--- Write the report to the file at `path` (nil: nowhere), with what the table `more`
--- has beside it.
function run_report.save(path, more)
  if not path then return end
  local report = run_report.of()
  for key, value in pairs(more or {}) do report[key] = value end
  files.save(path, cjson.encode(report) .. "\n")
end

return run_report
