-- SPDX-License-Identifier: Apache-2.0
-- What the workers of all CPUs have counted, put together.

local C = require("core.native")
local link = require("core.link")

local reports = {}

local function merge(links, answer)
  for spec, stats in pairs(answer.links) do
    local known = links[spec]
    if not known then
      links[spec] = stats
    elseif stats.half == "tx" then
      known.txpackets, known.txbytes = stats.txpackets, stats.txbytes
      known.txdrop = stats.txdrop
    else
      known.rxpackets, known.rxbytes = stats.rxpackets, stats.rxbytes
    end
  end
end

local UNKNOWN = {links = {}, in_links = 0, seconds = 0} -- of one that is given up

--- Give `workers` (core.cpus.workers) the functions that tell what they have counted.
function reports.attach(workers)
  --- Ask the workers for a report: {links = {[SPEC] = totals}, in_links =, cpus =
  --- {[CPU] = {seconds = of CPU time, packets = sent, freed and handed on, breaths =,
  --- dead =, node = NUMA node of its packets, or -1, cycles = where its cycles went}}}.
  --- `held` is a list of what they tell with --check; nil if one can't be asked.
  --- With `apps` their apps report on stdout; `problems` is a list of what they raised.
  function workers.report(apps)
    local sum = {links = {}, in_links = 0, cpus = {}, problems = {}, held = {}}
    for _, cpu in ipairs(workers.places()) do
      local answer = workers.ask(cpu, {what = "report", apps = apps and cpu}) or UNKNOWN
      merge(sum.links, answer)
      sum.in_links = sum.in_links + answer.in_links
      sum.held = answer ~= UNKNOWN and sum.held or nil
      if sum.held then sum.held[#sum.held + 1] = answer.held end
      sum.problems[#sum.problems + 1] = answer.problem
      local worker = workers.by_cpu[cpu]
      local counted = worker.handle.account
      sum.cpus[cpu] = {seconds = answer.seconds,
        packets = tonumber(counted.frees + counted.sent + counted.handed),
        breaths = tonumber(worker.handle.breaths), dead = worker.dead ~= nil,
        node = C.pg_pool_node(counted.pool), cycles = answer.cycles}
    end
    return sum
  end

  --- Packets that ports of the workers have missed up to now.
  function workers.missed()
    local sum = 0
    local answers = workers.ask_all(workers.places(), function ()
      return {what = "missed"}
    end)
    for _, answer in pairs(answers) do sum = sum + answer.missed end
    return sum
  end

  --- The totals of `links` (as engine.link_table) and of the workers' links.
  function workers.totals(links)
    local sum = {}
    merge(sum, {links = link.all_stats(links)})
    merge(sum, workers.report())
    return sum
  end
end

return reports
