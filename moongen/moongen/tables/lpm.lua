-- SPDX-License-Identifier: Apache-2.0
-- libmoon's module `lpm`: a table of IPv4 routes, looked up by the longest prefix for
-- the packets of a burst. Routes are entries of a C structure of the script's.

local bit = require("bit")
local ffi = require("ffi")
local failure = require("core.failure")
local C = require("core.declare")("net/route/route.h")
local route_table = require("net.route.table")
local serialize = require("moongen.tasks.serialize")

local M = {}

local ADDRESS_BITS = 32
local DESTINATION_AT, HEADERS = 30, 34 -- bytes of Ethernet and IPv4
local word_p = ffi.typeof("int32_t *")
local MAC_BYTES = 6
local DEFAULT_ENTRY_OFFSET = 1

local Table = {}
Table.__index = Table
M.mg_lpm4Table = Table

-- `entries` are the different ones, of which routes' ports are the numbers; `numbers`
-- these by the entries' `bytes`; `users`: how many routes have each; `free` numbers.
local function new(entry_ctype)
  return setmetatable({entry_ctype = entry_ctype, routes = route_table.new(),
    entries = {}, numbers = {}, bytes = {}, users = {}, free = {}}, Table)
end

--- A table whose entries are of the C type `entry_ctype` (a string). The first two
--- arguments are of libmoon's that don't matter here.
function M.createLpm4Table(_, _, entry_ctype)
  return new(entry_ctype)
end

-- The number of the entry with these bytes. A free number's entry is overwritten, never
-- given back: a script may have a pointer to it.
local function number_of(self, bytes)
  local number = self.numbers[bytes]
  if number then return number end
  number = table.remove(self.free) or #self.entries + 1
  if number > C.IP4_MOST_WAYS then
    failure.raise("lpm: routes have more than %d different entries", C.IP4_MOST_WAYS)
  end
  self.entries[number] = self.entries[number] or self:allocateEntry()
  self.numbers[bytes], self.bytes[number], self.users[number] = number, bytes, 0
  ffi.copy(self.entries[number], bytes, #bytes)
  return number
end

-- One route fewer has the entry.
local function release(self, number)
  self.users[number] = self.users[number] - 1
  if self.users[number] > 0 then return end
  self.numbers[self.bytes[number]] = nil
  self.free[#self.free + 1] = number
end

local function put(self, address, mask, bytes)
  local route = {address = bit.band(address, mask) % 2 ^ ADDRESS_BITS, mask = mask,
    gateway = 0}
  local place = self.routes:place_of(route.address, mask)
  local before, number = place and self.routes:at(place), number_of(self, bytes)
  route.port = number - 1
  self.users[number] = self.users[number] + 1
  local problem = self.routes:put(route)
  if problem then failure.raise("lpm: %s", problem) end
  if before then release(self, before.port + 1) end
  self.find = nil
end

--- Add a route, or replace it: to the net with this address (a number) and prefix of
--- `depth` bits. The entry is copied; routes with the same one share the copy. True.
function Table:addEntry(address, depth, entry)
  if depth % 1 ~= 0 or depth < 0 or depth > ADDRESS_BITS then
    failure.usage("lpm: a prefix has 0 to %d bits, not %s", ADDRESS_BITS,
      tostring(depth))
  end
  put(self, address, 2 ^ ADDRESS_BITS - 2 ^ (ADDRESS_BITS - depth),
    ffi.string(entry, ffi.sizeof(self.entry_ctype)))
  return true
end

-- The number of the entry for an address as it lies in headers; -1: there is no route.
local function finder(self)
  self.find = self.find or self.routes:finder()
  return self.find
end

--- The entry for an address (a number); nil if there is no route.
function Table:lookup(address)
  return self.entries[(finder(self)(bit.bswap(address)))]
end

--- Look up the destinations of the packets (an array of buffers of IPv4) that `mask`
--- has. Those that have a route are in `hit_mask`, which may be the same mask, and
--- their entries in `entries`, from allocateEntryPtrs.
function Table:lookupBurst(packets, in_mask, hit_mask, entries)
  if packets.size > entries.n then
    failure.usage("lpm: there is room for %d entries, but %d packets", entries.n,
      packets.size)
  end
  local find, all = finder(self), self.entries
  for i = 1, packets.size do
    local packet, found = packets[i], nil
    if in_mask[i] and packet.length >= HEADERS then
      found = all[(find(ffi.cast(word_p, packet:getBytes() + DESTINATION_AT)[0]))]
    end
    hit_mask[i] = found ~= nil
    if found then entries.array[i - 1] = found end
  end
  return 0
end

--- A new entry, of zeros.
function Table:allocateEntry() return ffi.new(self.entry_ctype .. "[1]") end

local Pointers, methods = {}, {}

function Pointers:__index(key)
  if type(key) == "number" then return self.array[key - 1] end
  return methods[key]
end

--- Packet `i`'s entry from byte `at` on, of which there are `n` (uint8_t *). A usage
--- failure if there are fewer, or if the packet has no entry.
function methods:bytes(i, at, n)
  if i > self.n or self.array[i - 1] == nil then
    failure.usage("lpm: packet %d has no entry: it isn't for a mask of routed packets",
      i)
  end
  if at % 1 ~= 0 or at < 0 or at + n > self.entry_bytes then
    failure.usage("lpm: entries have %d bytes, so %d from byte %s on aren't there",
      self.entry_bytes, n, tostring(at))
  end
  return ffi.cast("uint8_t *", self.array[i - 1]) + at
end

--- Places for the entries of `n` packets.
function Table:allocateEntryPtrs(n)
  return setmetatable({array = ffi.new(self.entry_ctype .. "*[?]", n), n = n,
    entry_bytes = ffi.sizeof(self.entry_ctype)}, Pointers)
end

-- To another task it goes as a copy.
serialize.class("moongen.tables.lpm", "lpm", Table, function (t)
  local list = {}
  for place = 1, t.routes:last() do
    local route = t.routes:at(place)
    list[place] = {route.address, route.mask,
      ffi.string(t.entries[route.port + 1], ffi.sizeof(t.entry_ctype))}
  end
  return t.entry_ctype, list
end, function (entry_ctype, list)
  local t = new(entry_ctype)
  for _, route in ipairs(list) do put(t, unpack(route)) end
  return t
end)

--- Write the Ethernet destinations of the packets in the mask: the 6 bytes at
--- `entry_offset` (default 1) of each one's entry.
function M.applyRoute(packets, in_mask, entries, entry_offset)
  for i = 1, packets.size do
    if in_mask[i] and packets[i].length >= MAC_BYTES then
      ffi.copy(packets[i]:getBytes(),
        entries:bytes(i, entry_offset or DEFAULT_ENTRY_OFFSET, MAC_BYTES), MAC_BYTES)
    end
  end
  return 0
end

--- Take 1 from the TTLs of the packets (IPv4) in the mask. Those that don't come to 0
--- by that are in `out_mask`.
function M.decrementTTL(packets, in_mask, out_mask, ipv4)
  if ipv4 == false then failure.usage("lpm: decrementTTL is for IPv4") end
  for i = 1, packets.size do
    local goes_on = in_mask[i] and packets[i].length >= HEADERS
    if goes_on then
      local ip4 = packets[i]:getIP4Packet().ip4
      local ttl = ip4:getTTL()
      goes_on = ttl > 1
      ip4:setTTL(math.max(ttl - 1, 0))
    end
    out_mask[i] = goes_on
  end
end

return M
