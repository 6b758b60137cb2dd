-- SPDX-License-Identifier: Apache-2.0
-- Named tables of connections, which packet filters share: connections that a filter
-- accepted a packet of. The tables are bounded, and forget
-- (native/kernels/connections.c).

local ffi = require("ffi")
local C = require("core.native")
local engine = require("core.app")
local lib = require("core.lib")

local conntrack = {}

local BUCKETS, WAYS = 2^13, 8 -- so 65,536 connections a table
local MAX_AGE = 7200 -- seconds

conntrack.capacity = BUCKETS * WAYS

local tables = {} -- by name
local slots = {} -- of each table: keeps them from the garbage collector

local function new_table()
  local slot = ffi.new("struct connection[?]", BUCKETS * WAYS)
  local tag = ffi.new("uint32_t[?]", BUCKETS * WAYS)
  local t = ffi.new("struct connections", {tag = tag, slot = slot, mask = BUCKETS - 1,
    max_age = MAX_AGE})
  t.seed = ffi.cast("uint64_t *", lib.random_bytes(8))[0]
  slots[t] = {slot, tag}
  return t
end

--- Make the table `name` unless there is one; the table, a struct connections.
function conntrack.define(name)
  if not name then return end
  if not tables[name] then
    tables[name] = new_table()
    conntrack.tell_time(tables[name])
  end
  return tables[name]
end

--- Tell the table what time it is. Whoever uses it does so now and then.
function conntrack.tell_time(t)
  t.now = math.floor(engine.now())
end

--- Forget all connections.
function conntrack.clear()
  for _, t in pairs(tables) do
    local slot = slots[t][1]
    ffi.fill(slot, ffi.sizeof(slot))
    t.evicted = 0
  end
end

--- How many connections the table `name` has.
function conntrack.count(name)
  return C.pg_connections_count(tables[name])
end

-- Snabb's API: a connection by itself --------------------------------------------

local Spec = {}

local function table_of(name)
  local t = tables[name]
    or error(("there is no connection table '%s'; define it first")
      :format(tostring(name)), 3)
  conntrack.tell_time(t)
  return t
end

--- Is the connection in the table `name`?
function Spec:check(name)
  return C.pg_connections_find(table_of(name), self)
end

--- Put it into the table `name`.
function Spec:track(name)
  C.pg_connections_add(table_of(name), self)
end

ffi.metatype("struct connection", {__index = Spec})

local spec = ffi.new("struct connection")
local LONGEST = 14 + 60 + 4 -- bytes that are looked at

--- The connection of the Ethernet frame at `data`, of `length` bytes (default: at least
--- 78), or nil if it has none. The next call overwrites it.
function conntrack.spec(data, length)
  if data == nil then return nil end
  if C.pg_connection(data, length or LONGEST, spec) then return spec end
end

return conntrack
