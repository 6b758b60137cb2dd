-- SPDX-License-Identifier: Apache-2.0
-- IPv4 routes in order, found by prefix. They lie in arrays of C structs: 100,000 Lua
-- tables would keep the garbage collector at work, and packets waiting for it.
--
-- A route is {address=, mask=, gateway=, port=} (see click.net.routes), maybe with
-- `label` and `output`. Its place is a number from 1 on, the least one that is free.

local bit = require("bit")
local ffi = require("ffi")
local meanwhile = require("core.lib.meanwhile")

local band, bxor, rshift, tobit = bit.band, bit.bxor, bit.rshift, bit.tobit

local RouteStore = {}
RouteStore.__index = RouteStore

local FIRST = 64
local record_t = ffi.typeof[[struct {
  uint32_t address, mask, gateway;
  int32_t port, next, used; // the next place in the same bucket, 0: none
}[?] ]]
local record_size = ffi.sizeof(record_t, 1)
local buckets_t = ffi.typeof("int32_t[?]")

local function bucket_of(self, address, mask)
  local a = tobit(address)
  local hash = bxor(a, rshift(a, 8), rshift(a, 17), rshift(tobit(mask), 5))
  return band(hash, self.capacity - 1)
end

local function enter(self, place)
  local records, buckets = self.records, self.buckets
  local bucket = bucket_of(self, records[place].address, records[place].mask)
  records[place].next, buckets[bucket] = buckets[bucket], place
end

-- Room for twice as many: a power of two, and as many buckets.
local function grow(self)
  local records = record_t(self.capacity * 2 + 1)
  ffi.copy(records, self.records, record_size * (self.capacity + 1))
  self.records, self.capacity = records, self.capacity * 2
  self.buckets = buckets_t(self.capacity)
  for place = 1, self.last do
    meanwhile.step()
    if records[place].used == 1 then enter(self, place) end
  end
end

--- No routes.
local function new()
  return setmetatable({
    records = record_t(FIRST + 1), buckets = buckets_t(FIRST), capacity = FIRST,
    n = 0, last = 0, hole = 1, -- how many; none is behind `last`, or free before `hole`
    more = {}, -- [place] = {label =, output =}
  }, RouteStore)
end

--- The place of the route for exactly that prefix, or nil.
function RouteStore:place_of(address, mask)
  local records = self.records
  local place = self.buckets[bucket_of(self, address, mask)]
  while place ~= 0 do
    local record = records[place]
    if record.address == address and record.mask == mask then return place end
    place = record.next
  end
end

--- The route at that place, or nil.
function RouteStore:at(place)
  local record = self.records[place]
  if place > self.last or record.used == 0 then return nil end
  local more = self.more[place]
  return {address = record.address, mask = record.mask, gateway = record.gateway,
    port = record.port, place = place, label = more and more.label,
    output = more and more.output}
end

--- Put the route at its prefix's place, or at a new one.
function RouteStore:put(route)
  local place = self:place_of(route.address, route.mask)
  if not place then
    place = self.hole
    while place <= self.last and self.records[place].used == 1 do place = place + 1 end
    if place > self.capacity then grow(self) end
    local record = self.records[place]
    record.address, record.mask, record.used = route.address, route.mask, 1
    enter(self, place)
    self.n, self.last, self.hole = self.n + 1, math.max(self.last, place), place + 1
  end
  local record = self.records[place]
  record.gateway, record.port = route.gateway, route.port
  self.more[place] = (route.label or route.output)
    and {label = route.label, output = route.output} or nil
end

--- Remove what is at that place.
function RouteStore:remove(place)
  local records, buckets = self.records, self.buckets
  local record = records[place]
  local bucket = bucket_of(self, record.address, record.mask)
  if buckets[bucket] == place then
    buckets[bucket] = record.next
  else
    local before = buckets[bucket]
    while records[before].next ~= place do before = records[before].next end
    records[before].next = record.next
  end
  record.used, self.more[place] = 0, nil
  self.n, self.hole = self.n - 1, math.min(self.hole, place)
end

return {new = new}
