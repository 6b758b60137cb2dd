-- SPDX-License-Identifier: Apache-2.0
-- libmoon's module `memory`: pools of buffers, arrays of them, and plain memory that
-- isn't collected, which tasks may share.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local arguments = require("moongen.arguments")
local buffers = require("moongen.memory.buffers")
local eal = require("core.eal")
local failure = require("core.failure")
local integer = require("moongen.integer")
local pools = require("moongen.memory.pools")

local memory = {}

local DEFAULT_N, DEFAULT_SIZE = 2047, 2048
local MOST_N, MOST_SIZE = 2 ^ 24, 65535 - 256
local TEMPLATE_LENGTH = 1522 -- bytes of a buffer that a template is written into

-- Pools -------------------------------------------------------------------------------

-- {n =, func =, socket =, bufSize =} of what a script gave, in one of the ways there
-- are: a table; a function, and a socket; a number, and a function or a socket.
local function of_pool(first, second, third, fourth)
  if type(first) == "table" then return first end
  if type(first) == "function" then return {func = first, socket = second} end
  if type(second) == "function" then
    return {n = first, func = second, socket = third, bufSize = fourth}
  end
  return {n = first, socket = second, bufSize = fourth}
end

-- Let the template write into each buffer of the pool.
local function fill(mem, func)
  local all = ffi.new("struct packet *[?]", mem.n)
  if C.mg_alloc(mem, all, mem.n, math.min(TEMPLATE_LENGTH, mem.size)) < 0 then
    failure.raise("createMemPool: the pool has fewer than its %d buffers", mem.n)
  end
  for i = 0, mem.n - 1 do func(all[i]) end
  C.mg_free(all, mem.n)
  C.mg_give_caches() -- it may be for others
end

--- A pool of `n` buffers (default 2047) of up to `bufSize` bytes (default 2048), with
--- each of which `func` (optional) is called once. What it writes stays in them. Takes
--- a table of these, or func; n, func; n.
function memory.createMemPool(...)
  local args = of_pool(arguments.of_either(memory, ...))
  local n = integer("createMemPool: n", args.n or DEFAULT_N, 1, MOST_N)
  local size = integer("createMemPool: bufSize", args.bufSize or DEFAULT_SIZE, 1,
    MOST_SIZE)
  if args.func ~= nil and type(args.func) ~= "function" then
    failure.usage("createMemPool: func is a function of a buffer, not %s",
      arguments.shown(args.func))
  end
  eal.start()
  local mem, why = pools.new(n, size, tonumber(args.socket) or -1)
  if not mem then failure.raise("createMemPool: %s", why) end
  if args.func then fill(mem, args.func) end
  return mem
end

local Pool = {__type = "mempool"}
Pool.__index = Pool

local pool_t = ffi.typeof("struct mempool")

local function check_pool(name, self)
  if not ffi.istype(pool_t, self) then
    arguments.without(name, self, "a pool (createMemPool)", 4)
  end
end

--- One buffer of `length` bytes.
function Pool:alloc(length)
  check_pool("alloc", self)
  if length ~= nil and type(length) ~= "number" then buffers.none(self, length) end
  local one = ffi.new("struct packet *[1]")
  if C.mg_alloc(self, one, 1, length or 0) < 0 then buffers.none(self, length or 0) end
  return one[0]
end

--- An array for `n` buffers (default 63) of this pool.
function Pool:bufArray(n)
  check_pool("bufArray", self)
  return buffers.new(n, self)
end

--- A pool of `n` such buffers; nil and the reason if there is no memory.
function Pool:another(n) return pools.new(n, self.size, -1) end

--- Pools live as long as the process.
function Pool:retain() return self end

ffi.metatype("struct mempool", Pool)

--- An array for `n` buffers (default 63) of any pool, to receive into.
function memory.createBufArray(...)
  return buffers.new((arguments.of_either(memory, ...)))
end
memory.bufArray = memory.createBufArray

--- Pools needn't be told that they may be used again.
function memory.enableCache() end
function memory.freeMemPools() end
function memory.testAllocationSpace() end

-- Plain memory ------------------------------------------------------------------------

pcall(ffi.cdef, "void *malloc(size_t size);")
pcall(ffi.cdef, "void free(void *memory);")
pcall(ffi.cdef, "void *calloc(size_t n, size_t size);")

local function cast(ctype, pointer)
  return require("moongen.packets.script_ffi").cast(ctype, pointer)
end

--- `size` bytes as a pointer of the type `ctype`. Not collected: see free().
function memory.alloc(ctype, size) return cast(ctype, ffi.C.malloc(size)) end

function memory.free(pointer) ffi.C.free(pointer) end

--- The same for much of it. Zeroed.
function memory.allocHuge(ctype, size)
  local pointer = ffi.C.calloc(1, size)
  if pointer == nil then failure.raise("allocHuge: no memory for %s bytes", size) end
  return cast(ctype, pointer)
end

function memory.freeHuge(pointer) ffi.C.free(pointer) end

--- What other threads wrote is seen from here on. (Each call of C is a barrier for the
--- compiler, and x86 keeps the order of stores.)
function memory.fence() C.mg_running(0) end

return arguments.guard(memory, "memory", {
  alloc = "declaration, count", allocHuge = "declaration, count", free = "pointer?",
  freeHuge = "pointer?",
})
