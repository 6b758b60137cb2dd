-- SPDX-License-Identifier: Apache-2.0
-- Pools of buffers, as scripts make them, and all there are. Each is a mempool of
-- DPDK's of its own, so that what a script has written into its buffers is still there
-- when they come back. They live as long as the process.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local locks = require("moongen.locks")

local pools = {}

ffi.cdef[[
unsigned mg_pool_left(const void *pool) __asm__("rte_mempool_avail_count");
]]

local shared = C.mg_shared()

local function make(n, size, socket)
  local number = shared.pools ~= nil and shared.pools.number + 1 or 1
  local pool = C.mg_pool_make(n, size, socket, number)
  if pool == nil then return nil end
  local p = locks.memory("struct mempool")
  p.pool, p.n, p.size, p.number, p.before = pool, n, size, number, shared.pools
  shared.pools = p
  return p
end

--- A pool (struct mempool *) of `n` buffers of up to `size` bytes, in memory of that
--- socket (-1: any); nil and the reason if there is no memory.
function pools.new(n, size, socket)
  shared.lock:lock()
  local ok, p = pcall(make, n, size, socket)
  shared.lock:unlock()
  if not ok then error(p, 0) end
  if p == nil then return nil, ffi.string(C.pg_error()) end
  return p
end

--- All pools of the process, a list in the order in which they were made.
function pools.all()
  local list, p = {}, shared.pools
  while p ~= nil do
    list[p.number] = p
    p = p.before
  end
  return list
end

--- How many of the pool's buffers it has now.
function pools.left(p) return C.mg_pool_left(p.pool) end

--- Arrays of buffers have so many places more: as many buffers may be in the hands of
--- scripts when they end.
function pools.note_places(n)
  shared.lock:lock()
  shared.array_places = shared.array_places + n
  shared.lock:unlock()
end

--- How many places all arrays have.
function pools.places() return tonumber(shared.array_places) end

return pools
