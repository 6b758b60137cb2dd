-- SPDX-License-Identifier: Apache-2.0
-- Where packets come from: the engine's free list, and behind it a pool of DPDK's,
-- made (with DPDK itself) when the first packet is asked for. There is one a NUMA
-- node (native/dpdk/pool.c). All of this is slow; the packet path in core.packet only
-- comes here with an empty list.

local ffi = require("ffi")
local C = require("core.native")
local eal = require("core.eal")
local failure = require("core.failure")
local log = require("core.lib.log")
local this_engine = require("core.this_engine")

local pool = {}

local REFILL = C.FREELIST_SIZE / 4

-- Sizes in packets, of each NUMA node's pool. It begins small, so that a host has room
-- for many idle processes, and grows as soon as a burst needs more.
local initial, most = 512, 262144
local PACKET_MB, OTHER_MB = 11 / 1024, 256 -- memory of each, and of all else

--- Let each NUMA node's pool grow to `n` packets (default 262,144). To be called before
--- the first packet is allocated.
function pool.limit(n)
  initial, most = math.min(initial, n), n
  eal.need_plain_memory(math.ceil(n * PACKET_MB) + OTHER_MB)
end

--- The packets that a pool begins with, and the most it may have.
function pool.sizes() return initial, most end

local worker = this_engine.worker()

--- The engine's; a worker's is in the memory that the other threads see.
pool.freelist = worker and worker.account
  or ffi.new("struct freelist", {max = C.FREELIST_SIZE, node = -1})
local freelist = pool.freelist

local used = {} -- pools: that of the free list, and those of ports

local function say(fmt, ...)
  log.info(fmt, ...)
end

-- " of NUMA node 1", where there are several.
local function which(p)
  local node = C.pg_pool_node(p)
  return node >= 0 and (" of NUMA node %d"):format(node) or ""
end

-- What to use when the node has no memory: another node's.
local function elsewhere(node, why)
  local other = node >= 0 and C.pg_pool_any(initial, most) or nil
  if other == nil then
    failure.raise("%s; ask for fewer with --packets N, or add memory: %s", why,
      "echo 512 > /proc/sys/vm/nr_hugepages")
  end
  say("NUMA node %d has no memory for packets, so packets%s take their place; "
    .. "reserve hugepages in /sys/devices/system/node/node%d/hugepages", node,
    which(other), node)
  return other
end

-- The pool of the NUMA node (-1: of this thread's).
local function of(node)
  local before = C.pg_pool_size()
  local p = C.pg_pool_of(node, initial, most)
  if p == nil then p = elsewhere(node, ffi.string(C.pg_error())) end
  local packets = C.pg_pool_room(p)
  if C.pg_pool_size() > before and packets <= initial / 2 then
    say("there is memory for %d packets%s only; what is free: %d MB of hugepages",
      packets, which(p), eal.free_huge_mb())
  end
  for _, other in ipairs(used) do
    if other == p then return p end
  end
  used[#used + 1] = p
  return p
end

--- Start DPDK and make the pool, unless that has been done.
function pool.create()
  if freelist.pool ~= nil then return end
  eal.alone(function ()
    eal.start()
    freelist.pool = of(freelist.node)
  end)
end

local served -- the first port whose node is known

--- The pool that a port of that NUMA node (-1: unknown) is to receive into. The first
--- port's is where the engine takes its own packets from.
function pool.near(node)
  pool.create()
  if node < 0 then return freelist.pool end
  local near = of(node)
  if not served then freelist.pool, served = near, true end
  return near
end

local function grow(p)
  if C.pg_pool_grow(p, C.pg_pool_room(p)) < 0 then
    return false, ffi.string(C.pg_error())
  end
  return true
end

local USUAL = 8192

--- Let the pool have as many packets as most graphs need, or as there is memory for,
--- before a peer maps its memory: when it grows later the peer has to do that again.
function pool.fill_up(p)
  local enough = 0.75 * math.min(USUAL, most) -- it grows by about the double
  while C.pg_pool_room(p) < enough do
    if not grow(p) then return end
  end
end

--- Double the pool, or add what there is memory for. True, or false and the reason.
function pool.grow() return grow(freelist.pool) end

-- What to do about a pool that can't grow. If it has fewer packets than it may have,
-- memory is short.
local function remedy(p)
  if C.pg_pool_room(p) >= most then return "raise the limit with --packets N" end
  if not C.pg_eal_hugepages() then
    return "memory is short: give DPDK more MB, as with --packets 300000 or --eal "
      .. "'--no-huge -m 4096'"
  end
  return ("memory is short: %d MB of hugepages are free; reserve more, or use none "
    .. "with --eal --no-huge"):format(eal.free_huge_mb())
end

local gave_up = {} -- pools that can't grow

local function tend(i)
  local p = used[i]
  if gave_up[i] or C.pg_pool_left(p) * 4 > C.pg_pool_room(p) then return end
  local grown, why = grow(p)
  if not grown then
    gave_up[i] = true
    say("the packet pool%s can't grow: %s (%s)", which(p), why, remedy(p))
  end
end

--- Grow pools ahead of need, when less than a quarter of one is left: so that ports,
--- which receive straight from it, don't run dry.
function pool.tend()
  for i = 1, #used do tend(i) end
end

--- Is the packet on the free list?
function pool.has_free(p)
  for i = 0, freelist.nfree - 1 do
    if freelist.list[i] == p then return true end
  end
  return false
end

-- Move packets to the free list, as many as are left if not REFILL.
local function take()
  for n = 0, 8 do
    if C.pg_freelist_refill(freelist, REFILL / 2 ^ n) > 0 then return true end
  end
end

--- Put packets on the empty free list, growing the pool if it has none left.
function pool.refill()
  pool.create()
  if take() then return end
  local size = C.pg_pool_room(freelist.pool)
  if size < most and pool.grow() and take() then return end
  failure.raise("the packet pool%s is empty: all of its %d packets are in use "
    .. "(in links, apps and ports); %s", which(freelist.pool),
    C.pg_pool_room(freelist.pool), remedy(freelist.pool))
end
jit.off(pool.refill)

return pool
