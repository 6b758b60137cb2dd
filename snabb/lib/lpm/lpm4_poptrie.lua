-- SPDX-License-Identifier: Apache-2.0
-- Longest prefix matches of IPv4 addresses by a Poptrie (Snabb's lib.lpm.lpm4_poptrie):
-- lib.poptrie's, built of a lib.lpm.lpm4_trie. Keys have 16 bits.

local bit = require("bit")
local ffi = require("ffi")
local lpm4_trie = require("lib.lpm.lpm4_trie").LPM4_trie
local poptrie = require("lib.poptrie")

local LPM4_poptrie = setmetatable({}, {__index = lpm4_trie})

local word = ffi.new("uint32_t[1]")
local bytes = ffi.cast("uint8_t *", word)

function LPM4_poptrie:new()
  return lpm4_trie.new(self):build()
end

local function put(ip)
  word[0] = ffi.abi("le") and bit.bswap(tonumber(ip)) or ip
end

--- Make the table that searches use, of all prefixes that there are now.
function LPM4_poptrie:build()
  local fib = poptrie.new{direct_pointing = true, s = 16}
  fib.rib = {}
  for e in self:entries() do
    put(e.ip)
    fib:add(bytes, e.length, e.key)
  end
  fib:build()
  fib.rib = nil -- which is most of it, and made anew each time
  self.fib = fib
  return self
end

--- The key of the longest prefix at the last build(), 0 if there is none.
function LPM4_poptrie:search(ip)
  put(ip)
  return self.fib:lookup32(bytes)
end

--- The same for the 4 bytes of an address in a packet.
function LPM4_poptrie:search_bytes(address)
  return self.fib:lookup32(ffi.cast("uint8_t *", address))
end

return {LPM4_poptrie = LPM4_poptrie}
