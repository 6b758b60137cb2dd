-- SPDX-License-Identifier: Apache-2.0
-- A ring of consistent hashing as Click's SourceIPHashMapper has it, number by number,
-- so that the same configuration sends the same clients to the same servers. Each
-- server has slots on the ring; a server that goes takes only its own clients with it.

local bit = require("bit")
local ffi = require("ffi")

local C = require("core.declare")("native/chance.h")

local HashRing = {}
HashRing.__index = HashRing

local ID_RANGE = 65536
local RING = 2 ^ 31 - 1

-- The servers' numbers, each once, ascending.
local function ascending(ids)
  local list, seen = {}, {}
  for _, id in ipairs(ids) do
    id = id % ID_RANGE
    if not seen[id] then list[#list + 1], seen[id] = id, true end
  end
  table.sort(list)
  return list
end

--- A ring of servers with these numbers, of which the lower 16 bits count; each has
--- `nodes` places, which follow from the seed and its number.
function HashRing.new(nodes, seed, ids)
  local list = ascending(ids)
  local numbers = ffi.new("int32_t[?]", #list * nodes)
  C.pg_chance_rows(seed % 2 ^ 32, nodes, ffi.new("uint32_t[?]", #list, list), #list,
    numbers)
  local places = {}
  for k = 0, #list * nodes - 1 do
    places[k + 1] = {at = numbers[k], order = k, server = math.floor(k / nodes) + 1}
  end
  table.sort(places, function (a, b)
    return a.at < b.at or a.at == b.at and a.order < b.order
  end)
  return setmetatable({places = places}, HashRing)
end

-- Click's ring is a tree, and what is behind the last place is its root's: the place in
-- the middle, not the first.
local function root_of(n)
  local size = 2
  while size <= n do size = size * 2 end
  local unfilled = math.floor((size - 1 - n) / 2)
  local full = 2 * math.floor((n + 1) / 2) - 2 * unfilled + 1
  local middle = size / 2
  return middle < full and middle or math.floor((middle + full - 1) / 2)
end

-- Where on the ring an address is. `source`: its bytes as a number in memory's order.
local function place_of(source)
  local first = bit.band(source, 0xff)
  local mixed = bit.tobit(source + bit.lshift(first * first, 24))
  return mixed % 2 ^ 32 % RING
end

--- Which server packets from the address go to: the nth of all in the order of their
--- numbers. `source` is the address as it lies in the packet, as a uint32_t.
function HashRing:find(source)
  local places, at = self.places, place_of(source)
  local low, high = 1, #places + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if places[middle].at < at then low = middle + 1 else high = middle end
  end
  return (places[low] or places[root_of(#places)]).server
end

return HashRing
