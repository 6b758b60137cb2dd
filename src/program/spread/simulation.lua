-- SPDX-License-Identifier: Apache-2.0
-- What `n` CPUs would have to do in periods of traffic (program.spread.traffic), by the
-- very functions that hand packets out and let buckets move (core.cpus.balance). Pure.

local balance = require("core.cpus.balance")

local simulation = {}

local BUCKETS = require("core.native").FLOW_BUCKETS

local function zeros(n)
  local list = {}
  for i = 0, n - 1 do list[i] = 0 end
  return list
end

local function add_to(sums, more, n)
  for i = 0, n - 1 do sums[i] = sums[i] + more[i] end
end

-- One run: with flows that stay, or move behind each period.
local function simulate(periods, n, moves)
  local owner, flows, all = balance.in_turn(BUCKETS, n), zeros(BUCKETS), zeros(n)
  local r = {worst = 1, turns = 0, buckets = 0, flows = 0, series = {}}
  for i, period in ipairs(periods) do
    local sums = balance.sums(owner, period.load, n)
    add_to(all, sums, n)
    add_to(flows, period.new, BUCKETS)
    local busiest = balance.imbalance(sums, n)
    r.series[i] = busiest
    if i > 1 or #periods == 1 then r.worst = math.max(r.worst, busiest) end
    local list = moves and balance.plan(owner, period.load, n) or {}
    r.turns = r.turns + (#list > 0 and 1 or 0)
    for _, move in ipairs(list) do
      owner[move.bucket] = move.to
      r.buckets, r.flows = r.buckets + 1, r.flows + flows[move.bucket]
    end
  end
  r.all = balance.imbalance(all, n)
  local tables = balance.sums(owner, flows, n)
  r.least_flows, r.most_flows = math.huge, 0
  for cpu = 0, n - 1 do
    r.least_flows = math.min(r.least_flows, tables[cpu])
    r.most_flows = math.max(r.most_flows, tables[cpu])
  end
  return r
end

-- The least that the busiest of `n` CPUs can have: a bucket isn't divided.
local function bound(periods, n)
  local load, all, most = zeros(BUCKETS), 0, 0
  for _, period in ipairs(periods) do add_to(load, period.load, BUCKETS) end
  for bucket = 0, BUCKETS - 1 do
    all, most = all + load[bucket], math.max(most, load[bucket])
  end
  return math.max(1, most * n / all)
end

--- {cpus = n, bound = the least that the busiest can have, stay =, balance =}, both
--- {all = the busiest CPU's packets by the mean; worst = the same of the worst period
--- but the first; series = of each period; turns, buckets, flows = what has moved;
--- least_flows, most_flows = in a CPU's table at the end}.
function simulation.run(periods, n)
  return {cpus = n, bound = bound(periods, n), stay = simulate(periods, n, false),
          balance = simulate(periods, n, true)}
end

return simulation
