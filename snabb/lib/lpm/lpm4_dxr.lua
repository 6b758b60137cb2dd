-- SPDX-License-Identifier: Apache-2.0
-- Longest prefix matches of IPv4 addresses by DXR (Zec, Rizzo and Mikuc, ACM SIGCOMM
-- CCR 42(5), 2012; Snabb's lib.lpm.lpm4_dxr): ranges of addresses with one key each,
-- and for each 16 first bits the ranges to look at (snabb/native/lpm.c). Keys have 16
-- bits.

local bit = require("bit")
local ffi = require("ffi")
local lpm4_trie = require("lib.lpm.lpm4_trie").LPM4_trie

ffi.cdef[[
uint16_t lpm4_dxr_search(uint32_t ip, uint16_t *ints, uint16_t *keys,
  uint32_t *bottoms, uint32_t *tops);
]]
local C = ffi.C

local LPM4_dxr = setmetatable({}, {__index = lpm4_trie})

local LAST = 2^32 - 1
local MOST = 2^16 - 1
local BLOCKS = 2^16

function LPM4_dxr:new()
  return lpm4_trie.new(self):build()
end

--- Give the prefix a key from 1 to 65535; 0 means no prefix.
function LPM4_dxr:add(ip, length, key)
  if key > MOST then
    error(("a prefix can't have the key %s; LPM4_dxr's are 0 to %d"):format(
      tostring(key), MOST), 2)
  end
  lpm4_trie.add(self, ip, length, key)
end

-- The last address and the key of each range, in order; the last ends at LAST.
local function ranges(self)
  local ends, keys, n = {}, {}, 0
  local function until_(last, key)
    if n > 0 and last <= ends[n] then return end
    if n == 0 or keys[n] ~= key then n = n + 1 end
    ends[n], keys[n] = last, key
  end
  local open = {{last = LAST, key = 0}} -- prefixes around the address, innermost last
  for e in self:entries() do
    while open[#open].last < e.ip do
      local closed = table.remove(open)
      until_(closed.last, closed.key)
    end
    if e.ip > 0 then until_(e.ip - 1, open[#open].key) end
    open[#open + 1] = {last = e.ip + 2^(32 - e.length) - 1, key = e.key}
  end
  for i = #open, 1, -1 do until_(open[i].last, open[i].key) end
  return ends, keys, n
end

--- Make the table that searches use, of all prefixes that there are now.
function LPM4_dxr:build()
  local ends, keys, n = ranges(self)
  self.dxr_ioff = n
  self.dxr_intervals = ffi.new("uint32_t[?]", n, ends)
  self.dxr_keys = ffi.new("uint16_t[?]", n, keys)
  self.dxr_smints = ffi.new("uint16_t[?]", n)
  for i = 0, n - 1 do self.dxr_smints[i] = bit.band(ends[i + 1], 0xffff) end
  self.dxr_bottoms = ffi.new("uint32_t[?]", BLOCKS)
  self.dxr_tops = ffi.new("uint32_t[?]", BLOCKS)
  local range = 1
  for i = 0, BLOCKS - 1 do
    while ends[range] < i * 65536 do range = range + 1 end
    self.dxr_bottoms[i] = range - 1
    while ends[range] < i * 65536 + 65535 do range = range + 1 end
    self.dxr_tops[i] = range - 1
  end
  return self
end

--- The index, in dxr_keys, of the range that has the address.
function LPM4_dxr:search_interval(ip)
  local low, high = 0, self.dxr_ioff - 1
  while low < high do
    local middle = bit.rshift(low + high, 1)
    if self.dxr_intervals[middle] < ip then low = middle + 1 else high = middle end
  end
  return low
end

--- The key of the longest prefix at the last build(), 0 if there is none.
function LPM4_dxr:search(ip)
  return C.lpm4_dxr_search(ip, self.dxr_smints, self.dxr_keys, self.dxr_bottoms,
    self.dxr_tops)
end

return {LPM4_dxr = LPM4_dxr}
