-- SPDX-License-Identifier: Apache-2.0
-- Elephants (--balance): while packets pass, buckets of flows move from the busiest
-- copy to the least busy one (core.cpus.balance). Each app that hands packets out to
-- the copies (core.cpus.distribute) has a table of buckets' owners, and counts there.
-- For a move all workers stand still, and what is on its way gets to its end first: so
-- no packet overtakes another of its flow, and copies hand their flows on in peace.

local ffi = require("ffi")
local C = require("core.native")
local balance = require("core.cpus.balance")
local outside = require("core.outside.visitors")

local balancer = {}

local BUCKETS = C.FLOW_BUCKETS
local FEWEST = 1000 -- packets for each copy, from which on they tell of loads

--- Seconds between two looks, unless others are asked for.
balancer.SECONDS = 0.1

local period        -- asked for; nil: nothing moves
local tables = {}   -- by the name of who hands out: struct steering
local counted = {}  -- what those had counted when they were last looked at
local group         -- {cpus =, move =, waits =}: what is balanced
local next_look, paused = 0, false
local used          -- so many copies take flows; nil: all
local workers, between -- see balancer.attach()
local entered = false

--- What it has done: looks at loads; turns that moved anything, buckets and flows
--- that moved; turns put off, since packets didn't get to their end, or awaited, since
--- copies weren't ready for moves; seconds that all stood still, in all and the
--- longest; the greatest load, in units of the mean, at the first look and as it was to
--- be after the last.
balancer.told = {looks = 0, turns = 0, buckets = 0, flows = 0, put_off = 0, awaited = 0,
                 seconds = 0, longest = 0}

--- What it needs of the engine: core.cpus.workers, and between() of core.cpus.deploy.
function balancer.attach(all_workers, deploy_between)
  workers, between = all_workers, deploy_between
end

--- Let buckets move every so many seconds (default: SECONDS); 0: not.
function balancer.want(seconds)
  period = seconds ~= 0 and (seconds or balancer.SECONDS) or nil
end

--- Is that asked for?
function balancer.wanted() return period ~= nil end

--- Let the first `n` copies alone take flows, from the next look on; nil: all.
function balancer.use(n) used = n end

--- How many copies of `n` take flows.
function balancer.used(n) return math.min(used or n, n) end

--- Let nothing move for now (`yes`), or again.
function balancer.pause(yes) paused = yes end

--- The table of who hands out to `n` copies and is called that: an address, for an app
--- on another CPU. Nil if nothing is to move.
function balancer.table(name, n)
  if not period then return nil end
  local t = tables[name]
  if not t then
    t = ffi.new("struct steering")
    local owner = balance.in_turn(BUCKETS, balancer.used(n))
    for bucket, cpu in pairs(owner) do t.owner[bucket] = cpu end
    tables[name], counted[name] = t, ffi.new("uint64_t[?]", BUCKETS)
  end
  return tonumber(ffi.cast("uintptr_t", ffi.cast("void *", t)))
end

local function packets_since()
  local all = 0
  for name, t in pairs(tables) do
    for bucket = 0, BUCKETS - 1 do
      all = all + tonumber(t.packets[bucket] - counted[name][bucket])
    end
  end
  return all
end

--- What packets each bucket has had since this was called last, {[BUCKET] = number}
--- from 0 on; or nil if those are fewer than `fewest`, which count the next time.
local function take_loads(fewest)
  if packets_since() < fewest then return nil end
  local load = {}
  for bucket = 0, BUCKETS - 1 do load[bucket] = 0 end
  for name, t in pairs(tables) do
    local before = counted[name]
    for bucket = 0, BUCKETS - 1 do
      local now = t.packets[bucket]
      load[bucket] = load[bucket] + tonumber(now - before[bucket])
      before[bucket] = now
    end
  end
  return load
end

local function owners()
  local _, t = next(tables)
  local owner = {}
  for bucket = 0, BUCKETS - 1 do owner[bucket] = t.owner[bucket] end
  return owner
end

-- Everything stands still.
local function carry_out(moves)
  local told = balancer.told
  if group.move then told.flows = told.flows + group.move(moves) end
  for _, t in pairs(tables) do
    for _, move in ipairs(moves) do t.owner[move.bucket] = move.to end
  end
  told.turns, told.buckets = told.turns + 1, told.buckets + #moves
end

local function all_there()
  for _, cpu in ipairs(group.cpus) do
    local worker = workers.by_cpu[cpu]
    if not worker or worker.dead or worker:is_given_up() then return false end
  end
  return workers.running() and not workers.main_has_links()
end

--- Look at the loads, and move what is to be moved.
function balancer.look()
  if not all_there() then return end
  local n = balancer.used(#group.cpus)
  local load = take_loads(FEWEST * n)
  if not load then return end
  local told = balancer.told
  told.looks = told.looks + 1
  local moves, before, after = balance.plan(owners(), load, n)
  told.first, told.last = told.first or before, after
  if #moves == 0 then return end
  if group.waits and group.waits() then
    told.awaited = told.awaited + 1
    return
  end
  local began = C.pg_monotonic()
  if not between(carry_out, moves) then told.put_off = told.put_off + 1 end
  local seconds = C.pg_monotonic() - began
  told.seconds, told.longest = told.seconds + seconds, math.max(told.longest, seconds)
end

local function tend(now)
  if not (group and period) or paused or now < next_look or not next(tables) then
    return
  end
  next_look = now + period
  balancer.look()
end
jit.off(tend) -- runs seldom: compiling it would only make packets wait

--- Balance the copies on the CPUs of the list. Before buckets move, move(moves), if
--- given, lets the copies hand on what they keep of the buckets' flows: `moves` are
--- those of core.cpus.balance. It returns how many flows there were. As long as
--- waits(), if given, is true, nothing moves.
function balancer.begin(cpus, move, waits)
  if not period then return end
  group = {cpus = cpus, move = move, waits = waits}
  if not entered then
    entered = true
    outside.let_in{tend = tend, patience = period}
  end
end

--- Lines for people about what has moved; none if that wasn't asked for.
function balancer.lines()
  local told = balancer.told
  if period and not group then
    return {"balance: nothing could move: flows aren't spread over several CPUs; see "
      .. "`perigee plan --cpus`"}
  end
  if not group or not told.first then return {} end
  local lines = {("balance: the busiest CPU had %.2f of the mean at first, now %.2f; "
    .. "%d looks"):format(told.first, told.last, told.looks)}
  if told.turns > 0 then
    lines[2] = ("balance: %d buckets%s moved in %d turns; workers stood still %.1f ms "
      .. "in all, %.1f at most"):format(told.buckets, group.move
      and (" and %d flows"):format(told.flows) or "", told.turns, 1e3 * told.seconds,
      1e3 * told.longest)
  end
  if told.put_off > 0 then
    lines[#lines + 1] = ("balance: %d turns put off, as packets on their way "
      .. "didn't get to their end"):format(told.put_off)
  end
  if told.awaited > 0 then
    lines[#lines + 1] = ("balance: %d turns put off, as kept flows were still taken "
      .. "over"):format(told.awaited)
  end
  return lines
end

return balancer
