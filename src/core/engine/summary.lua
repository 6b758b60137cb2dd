-- SPDX-License-Identifier: Apache-2.0
-- The engine's reports, summed over the workers: what engine.main prints at its end.

local account = require("core.engine.account")
local blocked = require("core.engine.blocked")
local cores = require("core.cpus.workers")
local drops = require("core.fuse.drops")
local jit_causes = require("core.watch.causes")
local jit_health = require("core.watch.health")
local report = require("core.engine.report")

local reports = {}

--- Give `engine` its reports. `inner` has its counters, sync() and account(), which
--- bring counters and cursors up to date.
function reports.attach(engine, inner)
  local counters, sync = inner.counters, inner.sync
  local run_start

  engine.sync = sync

  --- Measure the load from now on.
  function engine.load_begins()
    run_start = report.snapshot(counters)
  end

  -- Let each app report; the first error that one raised.
  local function report_apps()
    sync()
    local problem
    if next(engine.app_table) or not next(cores.workers) then
      problem = report.apps(engine.app_table)
    end
    io.stdout:flush()
    return problem or cores.report(true).problem
  end

  --- Print the load, links, apps and packets report, or the parts `options`
  --- selects. Raises at its end what an app's report() raised.
  function engine.report(options)
    sync()
    options = options or {showload = true, showlinks = true, showapps = true,
                          showpackets = true, showjit = true}
    if options.showlinks then engine.report_links() end
    local problem = options.showapps and report_apps()
    if options.showpackets then
      local workers = cores.report()
      report.cpus(workers.cpus)
      report.packets(account.packets(engine.link_table, workers.in_links))
      report.rings(cores.rings())
      report.blocked(blocked)
    end
    if options.showload then engine.report_load() end
    if options.showjit then report.jit(jit_causes.of(jit_health.problems())) end
    if problem then error(problem, 0) end
  end

  --- Print the load since engine.main was called, or since the last call.
  function engine.report_load()
    sync(true)
    run_start = run_start or report.snapshot(counters)
    run_start = report.load(counters, run_start, cores.report().cpus)
  end

  --- What each link has carried, {[SPEC] = {rxpackets =, txpackets =, rxbytes =,
  --- txbytes =, txdrop =}}, links of and between workers too.
  function engine.link_totals()
    sync()
    return cores.totals(engine.link_table)
  end

  --- Have all the files that apps read ended (an app with ends() and ended(), such as
  --- a port), and is no packet in links, here or on other CPUs? For `done` of
  --- engine.main.
  function engine.finished() return cores.finished(engine) end

  --- Print what each link carried.
  function engine.report_links()
    report.links(engine.link_totals())
  end

  --- Let each app report. Raises at the end what one of them raised.
  function engine.report_apps()
    local problem = report_apps()
    if problem then error(problem, 0) end
  end

  --- Packets that the app `name` has dropped, as of now: {[REASON] = packets}.
  --- Counted are those of apps with process(p) and process_burst(), also in shared
  --- memory: apps/NAME/drop_REASON.counter.
  function engine.drops(name)
    inner.account()
    if cores.has(name) then return cores.drops(name) end
    return drops.named(engine.app_table, name)
  end
end

return reports
