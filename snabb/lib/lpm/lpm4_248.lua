-- SPDX-License-Identifier: Apache-2.0
-- Longest prefix matches of IPv4 addresses by DIR-24-8 (Gupta, Lin and McKeown, INFOCOM
-- 1998; Snabb's lib.lpm.lpm4_248): an array of all first 24 bits, 32 or 64 MB, whose
-- elements are keys, or numbers of tables for the last 8 (snabb/native/lpm.c).

local bit = require("bit")
local ffi = require("ffi")
local arguments = require("core.lib.arguments")
local lpm4_trie = require("lib.lpm.lpm4_trie").LPM4_trie

ffi.cdef[[
uint16_t lpm4_248_search(uint32_t ip, int16_t *big, int16_t *little);
uint32_t lpm4_248_search32(uint32_t ip, int32_t *big, int32_t *little);
]]
local C = ffi.C

local LPM4_248 = setmetatable({}, {__index = lpm4_trie})

-- LuaJIT's FFI takes these for the pointers above; the C functions see no signs.
local ARRAYS = {[15] = ffi.typeof("int16_t[?]"), [31] = ffi.typeof("int32_t[?]")}

--- The key of the longest prefix at the last build(), 0 if there is none.
function LPM4_248:search16(ip)
  return C.lpm4_248_search(ip, self.lpm4_248_bigarry, self.lpm4_248_lilarry)
end

function LPM4_248:search32(ip)
  return C.lpm4_248_search32(ip, self.lpm4_248_bigarry, self.lpm4_248_lilarry)
end

--- A table; `config.keybits` is 15 (the default) or 31, the size of its keys.
function LPM4_248:new(config)
  local problem = arguments.problem("LPM4_248's argument", "table?", config)
  if problem then error(problem, 2) end
  local keybits = config and config.keybits or 15
  if not ARRAYS[keybits] then
    error(("keybits can't be %s; LPM4_248 supports 15 or 31 keybits"):format(
      tostring(keybits)), 2)
  end
  local object = lpm4_trie.new(self)
  object.keybits = keybits
  object.search = keybits == 15 and LPM4_248.search16 or LPM4_248.search32
  object.lpm4_248_bigarry = ARRAYS[keybits](2^24)
  object.lpm4_248_lilarry = ARRAYS[keybits](256)
  return object
end

--- Give the prefix a key of `keybits` bits; 0 means no prefix.
function LPM4_248:add(ip, length, key)
  if key >= 2^self.keybits then
    error(("a prefix can't have the key %s; of %d bits they are 0 to %d"):format(
      tostring(key), self.keybits, 2^self.keybits - 1), 2)
  end
  lpm4_trie.add(self, ip, length, key)
end

local function set(array, from, count, value)
  for i = from, from + count - 1 do array[i] = value end
end

-- How many tables for the last 8 bits there have to be.
local function tables_of(self)
  local count, last = 0, nil
  for e in self:entries() do
    local base = bit.rshift(e.ip, 8)
    if e.length > 24 and base ~= last then count, last = count + 1, base end
  end
  return count
end

--- Make the table that searches use, of all prefixes that there are now.
function LPM4_248:build()
  local big, array_t = self.lpm4_248_bigarry, ARRAYS[self.keybits]
  local little = array_t(256 * (tables_of(self) + 1)) -- table 0 is none
  ffi.fill(big, ffi.sizeof(big))
  local tables, last = 0, nil
  for e in self:entries() do -- longer ones come after those that they are inside of
    local base = tonumber(bit.rshift(e.ip, 8))
    if e.length <= 24 then
      set(big, base, 2^(24 - e.length), e.key)
    else
      if base ~= last then
        tables, last = tables + 1, base
        set(little, 256 * tables, 256, big[base])
        big[base] = tables - 2^self.keybits
      end
      set(little, 256 * tables + e.ip % 256, 2^(32 - e.length), e.key)
    end
  end
  assert(tables < 2^self.keybits, "there are too many prefixes of more than 24 bits")
  self.lpm4_248_lilarry = little
  return self
end

return {LPM4_248 = LPM4_248}
