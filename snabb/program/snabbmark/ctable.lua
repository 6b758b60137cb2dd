-- SPDX-License-Identifier: Apache-2.0
-- The ctable benchmark: 2 million entries of 8 bytes to 20, in a table that is two
-- fifths full; inserted, looked up one by one, and looked up many at once.

local ffi = require("ffi")
local measure = require("program.snabbmark.measure")

local M = {}

local ENTRIES, OCCUPANCY = 2e6, 0.4
local WIDEST = 256

local function insertion(t)
  return function (count)
    local key, value = ffi.new("uint32_t[2]"), ffi.new("int32_t[5]")
    for i = 1, count do
      key[0], key[1] = i, i
      for j = 0, 4 do value[j] = bit.bnot(i) end
      t:add(key, value)
    end
  end
end

local function lookup(t)
  return function (count)
    local key, entry = ffi.new("uint32_t[2]"), nil
    for i = 1, count do
      key[0], key[1] = i, i
      entry = t:lookup_ptr(key)
    end
    return entry.value[0]
  end
end

local function lookup_and_copy(t)
  return function (count)
    local key, entry = ffi.new("uint32_t[2]"), t.entry_type()
    for i = 1, count do
      key[0], key[1] = i, i
      t:lookup_and_copy(key, entry)
    end
    return entry.value[0]
  end
end

local function fill(entries, first, n)
  for j = 0, n - 1 do
    entries[j].key[0], entries[j].key[1] = first + j, first + j
  end
end

local function streaming(t, stride)
  local streamer = t:make_lookup_streamer(stride)
  return function (count)
    local result
    for i = 1, count, stride do
      local n = math.min(stride, count - i + 1)
      fill(streamer.entries, i, n)
      streamer:stream()
      result = streamer.entries[n - 1].value[0]
    end
    return result
  end
end

--- Insert, then look up.
function M.run()
  local ctable = measure.need("lib.ctable", "snabbmark ctable")
  local count = math.max(WIDEST, math.floor(ENTRIES * M.scale))
  local t = ctable.new{key_type = ffi.typeof("uint32_t[2]"),
                       value_type = ffi.typeof("int32_t[5]")}
  t:resize(math.floor(count / OCCUPANCY) + 1)
  measure.time(insertion(t), count, "insertion (40% occupancy)")
  measure.time(lookup(t), count, "lookup_ptr (40% occupancy)")
  measure.time(lookup_and_copy(t), count, "lookup_and_copy (40% occupancy)")
  local stride = 1
  repeat
    measure.time(streaming(t, stride), count, "streaming lookup, stride=" .. stride)
    stride = stride * 2
  until stride > WIDEST
end

return M
