-- SPDX-License-Identifier: Apache-2.0
-- For specs of going on with what is kept (net.keep): a table of numbers, by numbers,
-- in which the value is twice the key.

local ffi = require("ffi")
local flow = require("net.flow.flow")
local keep = require("net.keep.keep")
local tables = require("net.keep.tables")
local tree = require("core.shm.tree")

local M = {}

--- Records of a table that is filled, the time then, and for how long they are good.
M.N, M.NOW, M.TIMEOUT = 3000, 1000, 500
local N, NOW, TIMEOUT = M.N, M.NOW, M.TIMEOUT

local key = ffi.new("uint64_t[1]")

--- The number of the key's record, 0: there is none.
function M.find(t, k)
  key[0] = k
  return t:find(key)
end

--- Add a record, as of `now`; its number.
function M.add(t, k, now)
  key[0] = k
  local number = t:add(key, now)
  t.record[number].value = 2 * k
  return number
end

--- An empty table, and an item of it for keep.records().
function M.table(of, now, limit)
  local t = flow.new{key = "uint64_t", value = "uint64_t", limit = limit or 2 * N,
    ages = {TIMEOUT}}
  return t, tables.item{of = of, layout = "numbers 1", flows = t,
    now = function () return now end}
end

--- A table that is kept, as a process has it that begins at `now`.
function M.started(now, limit)
  local t, item = M.table("flows", now, limit)
  keep.records(item)
  return t
end

--- One with the keys 1 to N, of which each second is out of time at NOW + TIMEOUT / 2.
function M.filled()
  local t = M.started(NOW)
  for k = 1, N do M.add(t, k, k % 2 == 0 and NOW or NOW - TIMEOUT / 2) end
  return t
end

--- What files there are.
function M.files() return tree.names(keep.folder("spec")) end

return M
