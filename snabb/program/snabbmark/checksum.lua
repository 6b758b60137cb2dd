-- SPDX-License-Identifier: Apache-2.0
-- The checksum benchmark: IP's checksum over three sizes, by plain C and by the kernels
-- that apps use.

local ffi = require("ffi")
local checksum = require("lib.checksum")
local measure = require("program.snabbmark.measure")

local C = ffi.C
local M = {}

-- {bytes, millions of times}: the rates that Snabb's benchmark stands for.
local SIZES = {{44, 14.4}, {550, 2}, {1516, 1}}

local function plain(bytes, size)
  return function (times)
    local result
    for _ = 1, times do result = C.cksum_generic(bytes, size, 0) end
    return result
  end
end

local function fast(bytes, size)
  return function (times)
    local result
    for _ = 1, times do result = checksum.ipsum(bytes, size, 0) end
    return result
  end
end

--- Sum up random bytes.
function M.run()
  for _, case in ipairs(SIZES) do
    local size, times = case[1], math.max(1, math.floor(case[2] * 1e6 * M.scale))
    local bytes = ffi.new("uint8_t[?]", size)
    for i = 0, size - 1 do bytes[i] = math.random(0, 255) end
    local label = ("Size=%d bytes; MPPS=%d M"):format(size, case[2])
    local function per_byte(ns) return ("; %.2f ns per byte"):format(ns / size) end
    measure.time(plain(bytes, size), times, "C: " .. label, per_byte)
    measure.time(fast(bytes, size), times, "SIMD: " .. label, per_byte)
  end
end

return M
