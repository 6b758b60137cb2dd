-- SPDX-License-Identifier: Apache-2.0
-- What engine.main's report says, as JSON, for those who go on with it: the sum over
-- packets, links, and drops and counters of apps.

local account = require("core.engine.account")
local cjson = require("cjson")
local cli = require("lib.cli")
local engine = require("core.app")
local files = require("core.lib.files")
local totals = require("core.engine.totals")
local workers = require("core.cpus.workers")

local run_report = {}

local PACKETS = {"received", "allocated", "sent", "freed", "port_drops", "in_links",
                 "in_rings", "held"}

local function numbers(t)
  local plain = {}
  for name, value in pairs(t) do
    if tonumber(value) then plain[name] = tonumber(value) end
  end
  return plain
end

local function is_empty(t) return next(t) == nil end

local function apps()
  local list = {}
  for name, app in pairs(engine.app_table) do
    local told = totals.app(app)
    local counters, drops = numbers(told.counters), numbers(told.drops)
    list[name] = {counters = not is_empty(counters) and counters or nil,
                  drops = not is_empty(drops) and drops or nil}
  end
  return list
end

--- The report of the run so far as a table: `packets`, the account of packets (the
--- names are those of core.engine.account); `links`, what each has carried; `apps`, by
--- name: counters, and drops by reason.
function run_report.of()
  local links = {}
  for spec, stats in pairs(engine.link_totals()) do links[spec] = numbers(stats) end
  local told, packets = workers.report(), {}
  local a = account.packets(engine.link_table, told.in_links)
  for _, name in ipairs(PACKETS) do packets[name] = a[name] end
  return {packets = packets, links = links, apps = apps()}
end

--- Add the option --json to a program's argparse parser.
function run_report.option(parser)
  parser:option("--json", "Also write the report as JSON to FILE; -: to standard "
    .. "output, and nothing else."):argname("FILE"):convert(cli.output)
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
