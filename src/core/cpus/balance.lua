-- SPDX-License-Identifier: Apache-2.0
-- Which buckets of flows move to which CPU, so that none has much more to do than
-- others: what core.cpus.balancer does while packets pass. Pure. As RSS++ does
-- (Barbette and others, "RSS++: load and state-aware receive side scaling", CoNEXT
-- 2019), buckets go from the busiest CPU to the least busy one, as few and as small
-- ones as will do.

local balance = {}

--- Up to this times the mean a CPU's load is left as it is; the loads that are wanted
--- once any bucket moves; and by how much that has to be better.
balance.TOLERANCE, balance.AIM, balance.GAIN = 1.10, 1.02, 0.02

--- The owners, {[BUCKET] = CPU} from 0 on, that `buckets` of them have at first among
--- `n` CPUs: in turn, as cards fill their tables.
function balance.in_turn(buckets, n)
  local owner = {}
  for bucket = 0, buckets - 1 do owner[bucket] = bucket % n end
  return owner
end

--- What each CPU has to do, {[CPU] = sum} from 0 on, of the buckets' loads.
function balance.sums(owner, load, n)
  local sums = {}
  for cpu = 0, n - 1 do sums[cpu] = 0 end
  for bucket = 0, #owner do
    sums[owner[bucket]] = sums[owner[bucket]] + load[bucket]
  end
  return sums
end

--- The greatest of the sums, in units of their mean; 1 if there is nothing to do.
function balance.imbalance(sums, n)
  local all, most = 0, 0
  for cpu = 0, n - 1 do all, most = all + sums[cpu], math.max(most, sums[cpu]) end
  return all > 0 and most * n / all or 1
end

-- The busiest and the least busy CPU.
local function ends_of(sums, n)
  local busiest, least = 0, 0
  for cpu = 1, n - 1 do
    if sums[cpu] > sums[busiest] then busiest = cpu end
    if sums[cpu] < sums[least] then least = cpu end
  end
  return busiest, least
end

-- The bucket of the CPU whose move does most for a gap: the largest of up to half of
-- it; else the smallest that is less than the gap. Nil: none is.
local function best_bucket(owner, load, cpu, gap)
  local fits, above
  for bucket = 0, #owner do
    local x = owner[bucket] == cpu and load[bucket] or 0
    if x > 0 and x <= gap / 2 then
      if not fits or x > load[fits] then fits = bucket end
    elseif x > 0 and x < gap and (not above or x < load[above]) then
      above = bucket
    end
  end
  return fits or above
end

-- Give the buckets that are of none of the `n` CPUs, largest first, to whoever has the
-- least to do: the new owners, the buckets that go, the sums then, and the imbalance
-- before.
local function take_in(owner, load, n)
  local now, moved, sums, others, homeless = {}, {}, {}, {}, {}
  for cpu = 0, n - 1 do sums[cpu] = 0 end
  for bucket = 0, #owner do
    local cpu = owner[bucket]
    local list = cpu < n and sums or others
    list[cpu], now[bucket] = (list[cpu] or 0) + load[bucket], cpu
    if cpu >= n then homeless[#homeless + 1] = bucket end
  end
  local most, all = 0, 0
  for _, list in ipairs{sums, others} do
    for _, sum in pairs(list) do most, all = math.max(most, sum), all + sum end
  end
  table.sort(homeless, function (x, y)
    return load[x] > load[y] or load[x] == load[y] and x < y
  end)
  for _, bucket in ipairs(homeless) do
    local _, to = ends_of(sums, n)
    now[bucket], moved[bucket], sums[to] = to, true, sums[to] + load[bucket]
  end
  return now, moved, sums, all > 0 and most * n / all or 1
end

--- What is to move, a list of {bucket =, from =, to =}; and the imbalance before and
--- after it. `owner`, {[BUCKET] = CPU}, and `load`, {[BUCKET] = number}, both from 0
--- on: `n` CPUs, and what each bucket has given them to do. Buckets of other CPUs, from
--- `n` on, move to these. An elephant stays, and what is beside it goes.
function balance.plan(owner, load, n)
  local now, moved, sums, before = take_in(owner, load, n)
  local must = next(moved) ~= nil
  if before <= balance.TOLERANCE and not must then return {}, before, before end
  for _ = 0, #owner do
    if balance.imbalance(sums, n) <= balance.AIM then break end
    local from, to = ends_of(sums, n)
    local bucket = best_bucket(now, load, from, sums[from] - sums[to])
    if not bucket then break end
    sums[from], sums[to] = sums[from] - load[bucket], sums[to] + load[bucket]
    now[bucket], moved[bucket] = to, true
  end
  local after = balance.imbalance(sums, n)
  if after > before - balance.GAIN and not must then return {}, before, before end
  local list = {}
  for bucket = 0, #owner do
    if moved[bucket] and now[bucket] ~= owner[bucket] then
      list[#list + 1] = {bucket = bucket, from = owner[bucket], to = now[bucket]}
    end
  end
  return list, before, after
end

return balance
