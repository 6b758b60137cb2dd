-- SPDX-License-Identifier: Apache-2.0
-- The hash benchmark: one key at a time, and several at once.

local ffi = require("ffi")
local lib = require("core.lib")
local siphash = require("lib.hash.siphash")
local measure = require("program.snabbmark.measure")

local M = {}

local ITERATIONS = 1e8
local MOST_BYTES = 65536 -- of a key

local function one_by_one(hash, size)
  local key = ffi.new("uint8_t[?]", size)
  return function (iterations)
    local result
    for i = 1, iterations do
      ffi.fill(key, size, bit.band(i, 255))
      result = hash(key)
    end
    return result
  end
end

local function together(hash, size, width)
  local keys = ffi.new("uint8_t[?]", size * width)
  local results = ffi.new("uint32_t[?]", width)
  return function (iterations)
    for i = 1, iterations, width do
      ffi.fill(keys, size * width, bit.band(i + width - 1, 255))
      hash(keys, results)
    end
    return results[width - 1]
  end
end

--- Hash keys of `key_size` bytes (text, default 4).
function M.run(key_size)
  local size = key_size and measure.whole(key_size, "bytes", 1, MOST_BYTES) or 4
  local iterations = math.max(8, math.floor(ITERATIONS * M.scale))
  measure.time(one_by_one(function (key) return key[0] end, size), iterations,
    "baseline")
  if lib.have_module("lib.hash.murmur") then
    local murmur = require("lib.hash.murmur").MurmurHash3_x86_32:new()
    measure.time(one_by_one(function (key)
      return murmur:hash(key, size, 0ULL).u32[0]
    end, size), iterations, "murmur hash (32 bit)")
  end
  for _, rounds in ipairs{{c = 1, d = 2}, {c = 2, d = 4}} do
    for _, width in ipairs{1, 2, 4, 8} do
      local options = {size = size, c = rounds.c, d = rounds.d}
      local work
      if width == 1 then
        work = one_by_one(siphash.make_hash(options), size)
      else
        options.width = width
        work = together(siphash.make_multi_hash(options), size, width)
      end
      measure.time(work, iterations,
        ("sip hash c=%d,d=%d (x%d)"):format(rounds.c, rounds.d, width))
    end
  end
end

return M
