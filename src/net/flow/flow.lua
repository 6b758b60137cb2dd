-- SPDX-License-Identifier: Apache-2.0
-- Tables of flows: records found by key, in C's memory (README.md). Keys and values are
-- of C types; Lua and C see the same bytes. Records have numbers, from 1 on, and stay
-- where they are.

local ffi = require("ffi")
local C = require("core.declare")("net/flow/flow.h")
local failure = require("core.failure")

local flow = {}

local POLICIES = {refuse = C.FLOW_REFUSE, evict = C.FLOW_EVICT}

local Table = {}
Table.__index = Table

local function whole(n, least, most) return n % 1 == 0 and n >= least and n <= most end

local function check(options, key_size)
  local limit, ages = options.limit, options.ages
  if not (type(limit) == "number" and whole(limit, 1, C.FLOW_MOST)) then
    failure.raise("a table's limit is a number of records from 1 to %d, not %s",
      C.FLOW_MOST, tostring(limit))
  elseif key_size < 1 or key_size > C.FLOW_KEY_MOST then
    failure.raise("a key has 1 to %d bytes, not %d", C.FLOW_KEY_MOST, key_size)
  elseif not POLICIES[options.full or "refuse"] then
    failure.raise("a full table can \"refuse\" or \"evict\", not %s",
      tostring(options.full))
  elseif ages and (#ages < 1 or #ages > C.FLOW_LISTS_MOST) then
    failure.raise("a table has 1 to %d timeouts, not %d", C.FLOW_LISTS_MOST, #ages)
  elseif options.full == "evict" and not ages then
    failure.raise("a table evicts by age: it needs timeouts")
  end
end

--- The C type of records: `key`, `value` (a C type each; value may be nil) and, with
--- `ages`, the struct flow_age `age`, in this order. At least 8 bytes.
function flow.record_type(key, value, ages)
  local text, types = "struct { $ key; ", {ffi.typeof(key)}
  if value then
    text, types[2] = text .. "$ value; ", ffi.typeof(value)
  end
  if ages then text = text .. "struct flow_age age; " end
  local record = ffi.typeof(text .. "}", unpack(types))
  if ffi.sizeof(record) >= 8 then return record end
  return ffi.typeof(text .. "uint8_t unused[8]; }", unpack(types))
end

--- The most bytes that a table of up to `limit` records of a C type takes.
function flow.bytes(record, limit)
  return tonumber(C.pg_flow_table_bytes(ffi.sizeof(record), limit))
end

--- A table. `options`: key and value, C types (a key's padding counts, so let it have
--- none); limit, of records; full: "refuse" (default) or "evict" the one that would go
--- first; ages: timeouts, in any unit, for the lists 0, 1, ...; reserve: records that
--- there is memory for from the start; seed (a number; random if absent).
function flow.new(options)
  local key_size = ffi.sizeof(options.key)
  check(options, key_size)
  local ages = options.ages
  local record = flow.record_type(options.key, options.value, ages)
  local t = C.pg_flow_table_new(ffi.sizeof(record), key_size,
    ages and ffi.offsetof(record, "age") or C.FLOW_NO_AGE, options.limit,
    POLICIES[options.full or "refuse"], options.seed or 0)
  if t == nil then
    failure.raise("there is no memory for a table of %d records", options.limit)
  end
  t.lists = ages and #ages or 0
  for i, timeout in ipairs(ages or {}) do t.list[i - 1].timeout = timeout end
  if options.reserve then C.pg_flow_table_reserve(t, options.reserve) end
  return setmetatable({
    table = ffi.gc(t, C.pg_flow_table_free),
    record = ffi.cast(ffi.typeof("$ *", record), t.records.record), -- by number
    record_type = record,
  }, Table)
end

--- The number of the record with the key (a pointer); 0: there is none. What it has is
--- `t.record[number]`: key, value, age.
function Table:find(key) return (C.pg_flow_table_find(self.table, key)) end

--- The same of n keys, one behind the other, into `numbers` (uint32_t). It takes much
--- less time than one by one where the table doesn't fit into the caches.
function Table:find_many(keys, n, numbers)
  C.pg_flow_table_find_many(self.table, keys, self.table.index.key_size, n, numbers)
end

--- The number of the record of the key, which is as new at `now`, and in the list
--- `list` (default: 0). One with a value of zeros is added if there was none: then the
--- second result is true. 0: there is no room.
function Table:add(key, now, list)
  local t = self.table
  local number = C.pg_flow_table_add(t, key, list or 0, now or 0)
  return number, t.added ~= 0
end

--- Take the record with that number out.
function Table:remove(number) C.pg_flow_table_remove(self.table, number) end

--- The record was used at `now`, and is in the list `list` (default: 0).
function Table:touch(number, now, list)
  C.pg_flow_table_touch(self.table, number, list or 0, now)
end

--- The number of a record whose time is over, or 0. Take it out to get the next.
function Table:expired(now) return (C.pg_flow_table_expired(self.table, now)) end

--- Take up to `most` records out whose time is over; f(number), if given, is called for
--- each before. How many there were.
function Table:expire(now, most, f)
  for n = 1, most do
    local number = self:expired(now)
    if number == 0 then return n - 1 end
    if f then f(number) end
    self:remove(number)
  end
  return most
end

--- The first record behind that number (0: of all), or 0. Others may come and go
--- meanwhile: a record that is there from the first step to the last is met once.
function Table:next(number) return (C.pg_flow_table_next(self.table, number)) end

--- `for number in t:each() do`: all records, as next() gives them.
function Table:each()
  local at = 0
  return function ()
    at = self:next(at)
    if at ~= 0 then return at end
  end
end

--- How many records there are.
function Table:count() return self.table.records.count end

--- Take all records out.
function Table:clear() C.pg_flow_table_clear(self.table) end

--- Give its memory back, and its files: it can't be used any more. (Without this the
--- garbage collector does, some time.)
function Table:close()
  C.pg_flow_table_free(ffi.gc(self.table, nil))
  self.table, self.record = nil, nil
end

--- Bytes in use, and the most that there can be.
function Table:memory()
  local t = self.table
  return tonumber(C.pg_flow_table_in_use(t)), flow.bytes(self.record_type, t.limit)
end

return flow
