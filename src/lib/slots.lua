-- SPDX-License-Identifier: Apache-2.0
-- A bounded map from keys (bytes, of one size) to slots: numbers from 0 on, with which
-- its user finds what belongs to a key in arrays of his own. When it is full a random
-- key makes room. Keys are hashed with a secret, so that who chooses them can't make
-- them collide (lib.hash.siphash). Memory is allocated once.

local ffi = require("ffi")
local C = require("core.native")
local siphash = require("lib.hash.siphash")

local band, rshift = bit.band, bit.rshift
local copy = ffi.copy

local NONE = -1
local numbers_t = ffi.typeof("int32_t[?]")

local Slots = {}
Slots.__index = Slots

local function numbers(count, value)
  local array = numbers_t(count)
  if value then ffi.fill(array, count * 4, value) end
  return array
end

local function power_of_two(n)
  local power = 1
  while power < n do power = power * 2 end
  return power
end

--- An empty map of up to `capacity` keys of `key_size` bytes.
local function new(key_size, capacity)
  local buckets = power_of_two(capacity)
  local self = setmetatable({
    key_size = key_size, capacity = capacity, count = 0,
    mask = buckets - 1,
    hash = siphash.make_hash{size = key_size},
    keys = ffi.new("uint8_t[?]", key_size * capacity),
    first = numbers(buckets, NONE), -- bucket -> slot
    next = numbers(capacity),       -- slot -> slot of the same bucket
    bucket = numbers(capacity),     -- slot -> bucket
    order = numbers(capacity),      -- the slots: those in use, then the free ones
    place = numbers(capacity),      -- slot -> place in `order`
  }, Slots)
  for i = 0, capacity - 1 do self.order[i], self.place[i] = i, i end
  return self
end

--- The slot of the key (a pointer); -1 if it isn't there.
function Slots:find(key)
  local slot = self.first[band(rshift(self.hash(key), 1), self.mask)]
  return (C.pg_slots_find(self.keys, self.key_size, self.next, slot, key))
end

-- Exchange what is at two places.
local function swap(self, i, j)
  local order, place = self.order, self.place
  local a, b = order[i], order[j]
  order[i], order[j] = b, a
  place[a], place[b] = j, i
end

--- Take the slot's key out.
function Slots:remove(slot)
  local first, next_slot, bucket = self.first, self.next, self.bucket[slot]
  if first[bucket] == slot then
    first[bucket] = next_slot[slot]
  else
    local before = first[bucket]
    while next_slot[before] ~= slot do before = next_slot[before] end
    next_slot[before] = next_slot[slot]
  end
  self.count = self.count - 1
  swap(self, self.place[slot], self.count)
end

--- A slot for the key, which must not be there yet. The second result is true if a
--- random other key went for it; the slot is that one's then.
function Slots:add(key)
  local evicts = self.count == self.capacity
  if evicts then self:remove(self.order[math.random(0, self.count - 1)]) end
  local slot = self.order[self.count]
  self.count = self.count + 1
  copy(self.keys + slot * self.key_size, key, self.key_size)
  local bucket = band(rshift(self.hash(key), 1), self.mask)
  self.bucket[slot] = bucket
  self.next[slot] = self.first[bucket]
  self.first[bucket] = slot
  return slot, evicts
end

--- The slot at place `i` of those in use: 0 to count - 1. Removing it moves the last
--- one there, so go through them from the end.
function Slots:at(i) return self.order[i] end

return {new = new}
