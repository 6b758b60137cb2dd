-- SPDX-License-Identifier: Apache-2.0
-- Latency of dependent memory accesses by working set, on pages of 4 KB and 2 MB, in a
-- process of its own: `perigee model memory`. A line of JSON for each size.

local cjson = require("cjson")
local C = require("core.native")
local failure = require("core.failure")
local fit = require("program.model.laboratory.fit")
local lib = require("core.lib")
local Memory = require("apps.load.memory").Memory

local M = {}

local SIZES = {} -- bytes: 1 KB to 512 MB
for exponent = 10, 29 do
  SIZES[#SIZES + 1] = 2^exponent
  if exponent > 13 and exponent < 29 then SIZES[#SIZES + 1] = 1.5 * 2^exponent end
end
local QUICK_SIZES = {}
for exponent = 10, 28, 3 do QUICK_SIZES[#QUICK_SIZES + 1] = 2^exponent end
local ROUNDS = 5
local SHARE = 4 -- of the memory that is available, one in so many may be taken
local STEP = 1.4 -- that much slower than the level before begins another

local function available_bytes()
  local info = lib.readfile("/proc/meminfo", "*a") or ""
  return tonumber(info:match("MemAvailable:%s+(%d+)") or 0) * 1024
end

local function measure(bytes, pages)
  local app, all = Memory:new{bytes = bytes, pages = pages}, {}
  for i = 1, ROUNDS do all[i] = C.pg_list_cycles(app.list, 20000) end
  local low, high = fit.interval(all)
  local kind = app:pages()
  app:stop()
  return {type = "memory", bytes = bytes, asked = pages, pages = kind,
          cycles = fit.median(all), low = low, high = high}
end

--- Measure, and write a line for each size.
function M.run(options)
  local most = available_bytes() / SHARE
  for _, pages in ipairs{"4K", "2M"} do
    for _, bytes in ipairs(options.quick and QUICK_SIZES or SIZES) do
      local ok, row
      if bytes > most then
        row = {type = "memory", bytes = bytes, asked = pages,
               problem = "a quarter of the memory that is available isn't enough"}
      else
        ok, row = pcall(measure, bytes, pages)
        if not ok and not failure.is(row) then error(row, 0) end
        if not ok then
          row = {type = "memory", bytes = bytes, asked = pages, problem = tostring(row)}
        end
      end
      io.write(cjson.encode(row), "\n")
      io.flush()
    end
  end
  io.write(cjson.encode{type = "core", core_per_tsc = C.pg_core_per_tsc(),
    tsc_hz = tonumber(C.pg_tsc_hz()), done = true}, "\n")
end

--- The steps in a list of rows of one kind of page, by size: {bytes = up to this size,
--- cycles = median} for each level of the memory.
function M.levels(rows)
  local levels = {}
  for _, row in ipairs(rows) do
    local level = levels[#levels]
    if row.cycles and level and row.cycles < STEP * level.all[1] then
      level.bytes = row.bytes
      table.insert(level.all, row.cycles)
    elseif row.cycles then
      levels[#levels + 1] = {bytes = row.bytes, all = {row.cycles}}
    end
  end
  for _, level in ipairs(levels) do level.cycles = fit.median(level.all) end
  return levels
end

return M
