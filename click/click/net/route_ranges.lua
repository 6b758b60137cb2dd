-- SPDX-License-Identifier: Apache-2.0
-- Many routes to IPv4 addresses, laid out for C (native/ip4_routes.c). A route is
-- {address=, length=, way=}: a prefix in host order, and a number from 1 on. What is
-- changed is laid out again chunk by chunk, when commit() is called; a chunk is 65536
-- addresses with the same first 16 bits.

local ffi = require("ffi")
local C = require("core.declare")("native/ip.h")
local meanwhile = require("core.lib.meanwhile")

local RouteRanges = {}
RouteRanges.__index = RouteRanges

local CHUNK, CHUNKS = 2 ^ 16, 2 ^ 16
local CHUNK_BITS = 16
local FIRST_RANGES = 1024
local ranges_t = ffi.typeof("struct ip4_range[?]")

-- Room for so many ranges; those there are remain.
local function allot(self, capacity)
  local ranges = ranges_t(capacity)
  if self.used then
    ffi.copy(ranges, self.ranges, ffi.sizeof("struct ip4_range") * self.used)
  end
  self.ranges, self.capacity, self.used = ranges, capacity, self.used or 0
  self.memory.ranges = ranges
end

--- No routes.
local function new()
  local self = setmetatable({
    memory = ffi.new("struct ip4_routes"),
    short = {}, -- [length][address] = way, of prefixes of up to 16 bits
    long = {},  -- [chunk] = list of routes with longer ones
    changed = {}, useful = 0, -- of the `used` ranges
  }, RouteRanges)
  for length = 0, CHUNK_BITS do self.short[length] = {} end
  allot(self, FIRST_RANGES)
  return self
end

local function size_of(length) return 2 ^ (32 - length) end

local function mark(self, address, length)
  local first = math.floor(address / CHUNK)
  for chunk = first, first + math.max(size_of(length) / CHUNK, 1) - 1 do
    self.changed[chunk] = true
  end
end

local function find_long(self, chunk, address, length)
  local list = self.long[chunk] or {}
  for i, route in ipairs(list) do
    if route.address == address and route.length == length then return i, list end
  end
  return nil, list
end

--- Let the prefix have that way, whatever it had; nil: none.
function RouteRanges:set(address, length, way)
  mark(self, address, length)
  if length <= CHUNK_BITS then
    self.short[length][address] = way
    return
  end
  local chunk = math.floor(address / CHUNK)
  local i, list = find_long(self, chunk, address, length)
  self.long[chunk] = list
  if i and not way then
    table.remove(list, i)
  elseif i then
    list[i].way = way
  elseif way then
    table.insert(list, {address = address, length = length, way = way})
  end
end

-- The way that the whole chunk has, but for longer prefixes.
local function way_of_chunk(self, chunk)
  local address = chunk * CHUNK
  for length = CHUNK_BITS, 0, -1 do
    local size = size_of(length)
    local way = self.short[length][math.floor(address / size) * size]
    if way then return way end
  end
  return 0
end

local function by_address(a, b)
  if a.address ~= b.address then return a.address < b.address end
  return a.length < b.length
end

-- From here on, it is that way: ranges next to each other have different ones.
local function continue(ranges, start, way)
  local last = ranges[#ranges]
  if last.start == start then
    last.way = way
    local before = ranges[#ranges - 1]
    if before and before.way == way then table.remove(ranges) end
  elseif last.way ~= way then
    table.insert(ranges, {start = start, way = way})
  end
end

-- The chunk's ranges {start=, way=} in order. Prefixes lie within each other: the inner
-- ones are on top of a stack.
local function ranges_of(self, chunk)
  local outer = {last = CHUNK - 1, way = way_of_chunk(self, chunk)}
  local ranges, stack = {{start = 0, way = outer.way}}, {outer}
  local list = self.long[chunk] or {}
  table.sort(list, by_address)
  local function leave(position)
    while #stack > 1 and stack[#stack].last < position do
      local start = table.remove(stack).last + 1
      if start < CHUNK then continue(ranges, start, stack[#stack].way) end
    end
  end
  for _, route in ipairs(list) do
    local start = route.address % CHUNK
    leave(start)
    continue(ranges, start, route.way)
    table.insert(stack, {last = start + size_of(route.length) - 1, way = route.way})
  end
  leave(CHUNK)
  return ranges
end

-- A place for so many ranges: the chunk's own if it has room, else a new one.
local function place_for(self, chunk, n)
  if chunk.n >= n then return chunk.at end
  while self.used + n > self.capacity do allot(self, self.capacity * 2) end
  local at = self.used
  self.used = at + n
  return at
end

local function lay_out(self, number)
  local chunk, long = self.memory.chunk[number], self.long[number]
  local ranges = long and long[1] and ranges_of(self, number)
  self.useful = self.useful - chunk.n
  if not ranges or #ranges == 1 then
    chunk.n = 0
    chunk.at = ranges and ranges[1].way or way_of_chunk(self, number)
    return
  end
  local at = place_for(self, chunk, #ranges)
  for i, range in ipairs(ranges) do
    local to = self.ranges[at + i - 1]
    to.start, to.way = range.start, range.way
  end
  chunk.at, chunk.n = at, #ranges
  self.useful = self.useful + #ranges
end

-- Lay everything out anew, if more than half of the ranges are of no use.
local function tidy(self)
  if self.used <= 2 * self.useful + FIRST_RANGES then return end
  self.used, self.useful = 0, 0
  for number = 0, CHUNKS - 1 do
    if self.memory.chunk[number].n > 0 then
      self.memory.chunk[number].n = 0
      lay_out(self, number)
    end
  end
end

--- Make what was set count.
function RouteRanges:commit()
  for number in pairs(self.changed) do
    meanwhile.step()
    lay_out(self, number)
  end
  self.changed = {}
  tidy(self)
end

--- Forget all routes.
function RouteRanges:clear()
  for length = 0, CHUNK_BITS do self.short[length] = {} end
  self.long, self.changed, self.used, self.useful = {}, {}, 0, 0
  ffi.fill(self.memory.chunk, ffi.sizeof(self.memory.chunk))
end

--- A function that finds the way of an address, given as a word; 0: there is none.
function RouteRanges:finder()
  local memory = self.memory
  return function (word) return (C.pg_ip4_routes_find(memory, word)) end
end

return {new = new}
