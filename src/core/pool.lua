-- SPDX-License-Identifier: Apache-2.0
-- Where packets come from: the engine's free list, and behind it DPDK's pool,
-- made (with DPDK itself) when the first packet is asked for. All of this is
-- slow; the packet path in core.packet only comes here with an empty list.

local ffi = require("ffi")
local C = require("core.native")
local eal = require("core.eal")
local failure = require("core.failure")
local here = require("core.cores.here")

local pool = {}

local REFILL = C.FREELIST_SIZE / 4

--- Sizes in packets, to be set before the first one is allocated.
pool.initial = 8192
pool.max = 262144

--- The engine's; a worker's is in the memory that the other threads see.
pool.freelist = here.worker and here.worker.account
  or ffi.new("struct freelist", {max = C.FREELIST_SIZE})

local created = false

local function say(fmt, ...)
  io.stderr:write("perigee: " .. fmt:format(...) .. "\n")
end

--- Start DPDK and make the pool, unless that has been done.
function pool.create()
  if created then return end
  eal.start()
  if C.pg_pool_size() > 0 then -- another thread did
    created = true
    return
  end
  local packets = C.pg_pool_create(pool.initial, pool.max)
  if packets < 0 then
    failure.raise("%s; ask for fewer with --packets N, or add memory: %s",
      ffi.string(C.pg_error()), "echo 512 > /proc/sys/vm/nr_hugepages")
  elseif packets <= pool.initial / 2 then
    say("there is memory for %d packets only; what is free: %d MB of hugepages",
      packets, eal.free_huge_mb())
  end
  created = true
end

--- Double the pool. True, or false and the reason.
function pool.grow()
  local before = C.pg_pool_size()
  local added = C.pg_pool_grow(before)
  if added < 0 then return false, ffi.string(C.pg_error()) end
  if added == 0 then return true end
  say("the packet pool has grown from %d to %d packets", before, before + added)
  return true
end

local gave_up = false

--- Grow the pool ahead of need, when less than a quarter of it is left: so
--- that ports, which receive straight from it, don't run dry.
function pool.tend()
  if gave_up or not created then return end
  if C.pg_pool_available() * 4 > C.pg_pool_size() then return end
  local grown, why = pool.grow()
  if not grown then
    gave_up = true
    say("the packet pool can't grow: %s (raise the limit with --packets)", why)
  end
end

-- Move packets to the free list, as many as are left if not REFILL.
local function take()
  for n = 0, 8 do
    if C.pg_freelist_refill(pool.freelist, REFILL / 2 ^ n) > 0 then return true end
  end
end

--- Put packets on the empty free list, growing the pool if it has none left.
function pool.refill()
  pool.create()
  if take() then return end
  if C.pg_pool_size() < pool.max and pool.grow() and take() then return end
  failure.raise("the packet pool is empty: all of its %d packets are in use "
    .. "(in links, apps and ports); raise the limit with --packets N",
    C.pg_pool_size())
end
jit.off(pool.refill)

return pool
