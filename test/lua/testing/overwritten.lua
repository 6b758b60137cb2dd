-- SPDX-License-Identifier: Apache-2.0
-- For specs: what compiled code reads, overwrites and then leaves.

local ffi = require("ffi")

local overwritten = {}

local ROUNDS, EVERY = 400, 50
local data, source = ffi.new("uint8_t[64]"), ffi.new("uint8_t[64]")
for i = 0, 63 do source[i] = 9 end
local text = ("\9"):rep(64)

--- Ways to overwrite data[0] with another byte, by name.
overwritten.ways = {
  ["ffi.copy"] = function () ffi.copy(data, source, 16) end,
  ["ffi.copy of many bytes"] = function () ffi.copy(data, source, 64) end,
  ["ffi.copy of a string"] = function () ffi.copy(data, text, 16) end,
  ["ffi.copy of a whole string"] = function () ffi.copy(data, "\9") end,
  ["ffi.fill"] = function () ffi.fill(data, 16, 9) end,
  ["ffi.fill of zeros"] = function () ffi.fill(data, 16) end,
  ["a store"] = function () data[0] = 9 end,
}

--- How many times the byte read before it was overwritten in that way wasn't the one
--- from before. Now and then compiled code is left behind that.
function overwritten.wrong(way)
  local wrong, kinds, overwrite = 0, {}, overwritten.ways[way]
  for i = 1, ROUNDS do kinds[i] = i % EVERY == 0 and {rare = true} or {} end
  local function read(kind)
    local before = data[0]
    overwrite()
    if kind.rare then return before + 0 end
    return before
  end
  for i = 1, ROUNDS do
    data[0] = 7
    if read(kinds[i]) ~= 7 then wrong = wrong + 1 end
  end
  return wrong
end

return overwritten
