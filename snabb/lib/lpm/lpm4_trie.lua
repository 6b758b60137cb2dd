-- SPDX-License-Identifier: Apache-2.0
-- Longest prefix matches of IPv4 addresses with changes that count at once (Snabb's
-- lib.lpm.lpm4_trie): a hash of all prefixes, asked once for each length there is. What
-- the faster tables are built of.

local bit = require("bit")
local ffi = require("ffi")
local ip4 = require("lib.lpm.ip4")
local lpm4 = require("lib.lpm.lpm4")
local tables = require("core.lib.tables")

local masked = ip4.masked

local LPM4_trie = setmetatable({alloc_storable = {"lpm4_trie"}}, {__index = lpm4.LPM4})

local FIRST_COUNT = 1024 -- prefixes that there is room for at first

function LPM4_trie:new()
  local object = lpm4.LPM4.new(self)
  object:alloc("lpm4_trie", lpm4.entry, FIRST_COUNT, 1)
  object.index_of = {} -- address * 64 + length -> index in lpm4_trie
  object.lengths = {} -- length -> how many prefixes have it
  for length = 0, 32 do object.lengths[length] = 0 end
  return object
end

--- The index of a node that is free, and the end of its use.
function LPM4_trie:get_node()
  return self:lpm4_trie_new()
end

function LPM4_trie:return_node(index)
  self.lpm4_trie[index].key = 0
  self:lpm4_trie_free(index)
end

--- Give the prefix a key from 1 to 2^31 - 1; 0 means no prefix.
function LPM4_trie:add(ip, length, key)
  if not (length >= 0 and length <= 32 and key >= 0 and key < 2^31) then
    error(("the prefix %s/%s can't have the key %s; lengths are 0 to 32, and keys 0 to "
      .. "2147483647"):format(ip4.tostring(ip), tostring(length), tostring(key)), 2)
  end
  if key == 0 then return self:remove(ip, length) end
  ip = masked(ip, length)
  local name = ip * 64 + length
  local index = self.index_of[name]
  if not index then
    index = self:get_node()
    self.index_of[name] = index
    self.lengths[length] = self.lengths[length] + 1
    self.order = nil
  end
  local node = self.lpm4_trie[index]
  node.ip, node.length, node.key = ip, length, key
end

--- Take the prefix away, if it is there.
function LPM4_trie:remove(ip, length)
  local name = masked(ip, length) * 64 + length
  local index = self.index_of[name]
  if not index then return end
  self.index_of[name], self.order = nil, nil
  self.lengths[length] = self.lengths[length] - 1
  self:return_node(index)
end

-- All prefixes, each as address * 64 + length, by address and then by length.
local function in_order(self)
  if not self.order then
    local order = tables.sorted_keys(self.index_of)
    self.order = order
  end
  return self.order
end

--- An iterator over all prefixes, by address and then by length. It returns the same
--- `entry` each time. Prefixes added or removed meanwhile don't count.
function LPM4_trie:entries()
  local order, i, entry = in_order(self), 0, lpm4.entry()
  return function ()
    local index
    repeat
      i = i + 1
      if not order[i] then return nil end
      index = self.index_of[order[i]]
    until index
    ffi.copy(entry, self.lpm4_trie + index, ffi.sizeof(entry))
    return entry
  end
end

--- Whether there are prefixes that are longer and inside of this one.
function LPM4_trie:has_child(ip, length)
  ip = masked(ip, length)
  local order, after = in_order(self), ip * 64 + length
  local low, high = 1, #order + 1
  while low < high do -- the first that is above `after`
    local middle = bit.rshift(low + high, 1)
    if order[middle] > after then high = middle else low = middle + 1 end
  end
  -- Shorter ones at the same address come before; so the next is inside or none is.
  return order[low] ~= nil and order[low] < (ip + 2^(32 - length)) * 64
end

--- The index, in lpm4_trie, of the longest prefix of the address that has at most
--- `length` (32) bits; nil if there is none.
function LPM4_trie:search_trie(ip, length)
  for n = length or 32, 0, -1 do
    if self.lengths[n] > 0 then
      local index = self.index_of[masked(ip, n) * 64 + n]
      if index then return index end
    end
  end
end

-- A copy of a node.
local function entry_at(self, index)
  if not index then return nil end
  local node = self.lpm4_trie[index]
  return lpm4.entry(node.ip, node.key, node.length)
end

--- The longest prefix of the address as an `entry`, or nil.
function LPM4_trie:search_entry(ip)
  return entry_at(self, self:search_trie(ip))
end

--- The prefix itself, or nil.
function LPM4_trie:search_entry_exact(ip, length)
  return entry_at(self, self.index_of[masked(ip, length) * 64 + length])
end

--- Read what alloc_store() has written, in place of what is there; lookups find it.
function LPM4_trie:alloc_load(from)
  from = ffi.cast("uint8_t *", from)
  local nodes = ffi.cast(ffi.typeof("$ *", lpm4.entry), from + 8)
  local bytes = tonumber(ffi.cast("uint64_t *", from)[0])
  for name in pairs(self.index_of) do
    self:remove(math.floor(name / 64), name % 64)
  end
  for i = 1, bytes / ffi.sizeof(lpm4.entry) - 1 do
    if nodes[i].key ~= 0 then self:add(nodes[i].ip, nodes[i].length, nodes[i].key) end
  end
  self:build()
end

--- Check tables of this kind, made by new(config), against plain tries. (The other
--- kinds are made of this one, and inherit it.)
function LPM4_trie:selftest(config)
  local trusted = LPM4_trie:new():add_random_entries()
  local object = self:new(config):add_random_entries()
  for _ = 1, 3 do
    object:build():verify(trusted:build())
    object:verify_entries_method()
    object:remove_random_entries()
    trusted:remove_random_entries()
  end
end

return {LPM4_trie = LPM4_trie}
