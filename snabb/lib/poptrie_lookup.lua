-- SPDX-License-Identifier: Apache-2.0
-- Lookups in tables of lib.poptrie (snabb/native/lpm.c).

local ffi = require("ffi")
local C = require("core.native")

local poptrie_lookup = {}

--- A function (leaves, nodes, key, directmap) that returns the leaf of the `keysize`
--- bits (32, 64 or 128) at `key`, for tables made as `poptrie` is.
function poptrie_lookup.generate(poptrie, keysize)
  local leaf_bits = ffi.sizeof(poptrie.leaf_t) * 8
  local lookup = C[("pg_poptrie_lookup%d_%d"):format(keysize, leaf_bits)]
  local direct = poptrie.direct_pointing and poptrie.s or 0
  return function (leaves, nodes, key, directmap)
    return lookup(leaves, nodes, key, directmap, direct)
  end
end

return poptrie_lookup
