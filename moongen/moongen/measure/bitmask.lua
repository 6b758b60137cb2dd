-- SPDX-License-Identifier: Apache-2.0
-- libmoon's `bitmask`: which packets of a burst are meant. Bits count from 1, as Lua
-- does.

local log = require("moongen.log")

local M = {}

local Mask = {}
local methods = {}

local MOST_BITS = 65535

--- A mask of `size` bits, all 0.
function M.createBitMask(size)
  if type(size) ~= "number" or size < 0 or size > MOST_BITS then
    log:fatal("a bit mask has 0 to %d bits, not %s", MOST_BITS, tostring(size))
  end
  return setmetatable({bits = {}, size = size}, Mask)
end

--- Is bit `key` 1? False beyond the mask.
function Mask:__index(key)
  if type(key) ~= "number" then return methods[key] end
  return rawget(self, "bits")[key] == true
end

--- Clear bit `key` (0, false) or set it.
function Mask:__newindex(key, value)
  if type(key) ~= "number" or key < 1 or key > rawget(self, "size") then
    log:fatal("the bits of this mask are 1 to %d; there is no %s", rawget(self, "size"),
      tostring(key))
  end
  rawget(self, "bits")[key] = value ~= 0 and value ~= false or nil
end

--- Set the first `n` bits; the others stay.
function methods:setN(n)
  for i = 1, math.min(n, self.size) do self.bits[i] = true end
  return self
end

--- Set all bits.
function methods:setAll() return self:setN(self.size) end

--- Clear all bits.
function methods:clearAll()
  rawset(self, "bits", {})
  return self
end

--- Iterates over numbers and bits.
function Mask:__ipairs()
  return function (_, i)
    if i < self.size then return i + 1, self[i + 1] end
  end, self, 0
end

local function combine(f)
  return function (a, b, result)
    for i = 1, result.size do result[i] = f(a[i], b[i]) end
  end
end

--- result = a AND b; and so on. `result` may be one of them.
M.band = combine(function (a, b) return a and b end)
M.bor = combine(function (a, b) return a or b end)
M.bxor = combine(function (a, b) return a ~= b end)

--- result = NOT mask
function M.bnot(mask, result)
  for i = 1, result.size do result[i] = not mask[i] end
end

return M
