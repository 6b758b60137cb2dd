-- SPDX-License-Identifier: Apache-2.0
-- Arrays of buffers, which scripts fill, send and receive into: a C structure with an
-- array of pointers, so that bursts go to C as they are. Indexed from 1 on.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local arguments = require("moongen.arguments")
local checked = require("moongen.checked")
local pools = require("moongen.memory.pools")

local buffers = {}

ffi.cdef[[
struct mg_buffers {
  int32_t size, maxSize;
  struct mempool *mem;
  struct packet *array[?];
};
]]

--- Their methods; others add some (offloads).
local methods = {__type = "bufArray"}
buffers.methods = methods

local DEFAULT_SIZE, MOST = 63, 65536

--- Raise why mg_alloc() gave no buffers of the pool.
function buffers.none(mem, length)
  if type(length) ~= "number" or not (length >= 0 and length <= mem.size) then
    error(("a buffer of this pool holds 0 to %d bytes, not %s (createMemPool{bufSize = "
      .. "...})"):format(mem.size, arguments.shown(length)), 3)
  end
  error(("the memory pool is empty: all of its %d buffers are in use, sent and not yet "
    .. "back, or kept by the script; free what was received, or make it larger "
    .. "(createMemPool{n = ...})"):format(mem.n), 3)
end

local array_t = ffi.typeof("struct mg_buffers")
local istype, type = ffi.istype, type

-- Compiled code knows the types: the tests in front of this cost it nothing.
local function no_array(name, self)
  arguments.without(name, self, "an array of buffers (mem:bufArray())", 4)
end

local function no_number(name, n)
  arguments.refuse(name, 1, n, "a number of buffers", 4)
end

local function no_pool()
  error("buf array not associated with a memory pool", 3)
end

--- Fill all places with buffers of `length` bytes from the array's pool.
function methods.alloc(self, length)
  if not istype(array_t, self) then no_array("alloc", self) end
  if type(length) ~= "number" then
    if self.mem == nil then no_pool() end
    buffers.none(self.mem, length)
  end
  if self.mem == nil then no_pool() end
  if C.mg_alloc(self.mem, self.array, self.size, length) < 0 then
    buffers.none(self.mem, length)
  end
end

--- The same with the first `n`, which are the array's size from now on.
function methods.allocN(self, length, n)
  if not istype(array_t, self) then no_array("allocN", self) end
  methods.resize(self, n)
  methods.alloc(self, length)
end

--- Let the array have `size` places, at most as many as it was made with.
function methods.resize(self, size)
  if not istype(array_t, self) then no_array("resize", self) end
  if type(size) ~= "number" or not (size >= 0 and size <= self.maxSize) then
    error(("a bufArray of %d slots can't be resized to %s"):format(self.maxSize,
      arguments.shown(size)), 2)
  end
  self.size = size
end

local function free(self, from, to)
  if not (from >= 0 and to >= 0 and to <= self.maxSize and from <= self.maxSize) then
    error(("free: buffers from %s to %s of an array of %d"):format(from, to,
      self.maxSize), 3)
  end
  if to > from and C.mg_free(self.array + from, to - from) < 0 then
    error("a buffer is freed that was sent or freed already", 3)
  end
end

--- Free all buffers up to the first place without one, and empty their places.
function methods.freeAll(self)
  if not istype(array_t, self) then no_array("freeAll", self) end
  local n = 0
  while n < self.size and self.array[n] ~= nil do n = n + 1 end
  free(self, 0, n)
  ffi.fill(self.array, n * ffi.sizeof("void *"))
end

--- Free the first `n`.
function methods.free(self, n)
  if not istype(array_t, self) then no_array("free", self) end
  if n ~= nil and type(n) ~= "number" then no_number("free", n) end
  free(self, 0, n or self.size)
end

--- Free those behind the first `n`.
function methods.freeAfter(self, n)
  if not istype(array_t, self) then no_array("freeAfter", self) end
  if type(n) ~= "number" then no_number("freeAfter", n) end
  free(self, n, self.size)
end

--- The next of the array, for ipairs.
function buffers.next(self, i)
  if i < self.size then return i + 1, self.array[i] end
end

local Buffers = {}
local packet_t = ffi.typeof("struct packet")

function Buffers:__index(key)
  if type(key) == "number" then
    if key >= 1 and key <= self.maxSize then return self.array[key - 1] end
    return nil
  end
  return methods[key]
end

function Buffers:__newindex(key, buf)
  if type(key) ~= "number" or key < 1 or key > self.maxSize then
    error(("a bufArray of %d slots has no slot '%s'"):format(self.maxSize,
      tostring(key)), 2)
  end
  if buf ~= nil and not istype(packet_t, buf) then
    error(("a slot of a bufArray takes a buffer or nil, not %s"):format(
      arguments.shown(buf)), 2)
  end
  self.array[key - 1] = buf
end

function Buffers:__len() return self.size end
function Buffers:__ipairs() return buffers.next, self, 0 end
function Buffers:__tostring() return ("[bufArray: %d buffers]"):format(self.size) end

checked.guard(methods, "alloc allocN freeAll free freeAfter")
methods.fill = methods.alloc -- its name of 2014

local make = ffi.metatype("struct mg_buffers", Buffers)

--- Is it such an array?
function buffers.is(value) return (ffi.istype(make, value)) end

--- An array of `n` places (default 63); `mem`: the pool of alloc(), or nil.
function buffers.new(n, mem)
  n = tonumber(n) or DEFAULT_SIZE
  if n % 1 ~= 0 or n < 1 or n > MOST then
    error(("a bufArray has from 1 to %d slots, not %s"):format(MOST, tostring(n)), 3)
  end
  local self = make(n)
  self.size, self.maxSize, self.mem = n, n, mem
  pools.note_places(n)
  return self
end

return buffers
