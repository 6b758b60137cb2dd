-- SPDX-License-Identifier: Apache-2.0
-- Named tables of connections, which packet filters share: connections that a filter
-- accepted a packet of. The tables are bounded, and forget (connections.c).

local ffi = require("ffi")
local C = require("core.declare")("apps/packet_filter/connections.h")
local engine = require("core.app")
local flow = require("net.flow.flow")
local tables_kept = require("net.keep.tables")
local this_engine = require("core.this_engine")

local conntrack = {}

local MAX_AGE = 7200e3 -- milliseconds

conntrack.capacity = 2^16 -- connections a table

local LAYOUT = "connection 1" -- of struct connection: another number with each change

local tables = {} -- by name
local asked = setmetatable({}, {__mode = "k"}) -- of tables that are kept
local flows = {} -- of each table, a net.flow.flow

local function new_table()
  local most = conntrack.capacity
  local f = flow.new{key = "struct connection", limit = most, full = "evict",
    ages = {MAX_AGE}, reserve = most} -- in large pages, where look-ups are faster
  local t = ffi.new("struct connections", {table = f.table})
  flows[t] = f
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
  t.now = math.floor(engine.now() * 1000)
end

--- The item for net.keep of that table, for the first that asks; nil.
function conntrack.kept_state(t)
  if asked[t] then return nil end
  asked[t] = true
  local copy, of = this_engine.cpu(), nil
  for name, other in pairs(tables) do
    if other == t then of = ("connections '%s'"):format(name) end
  end
  local item = tables_kept.item{of = of, layout = LAYOUT, flows = flows[t],
    now = function ()
      conntrack.tell_time(t)
      return tonumber(t.now)
    end}
  -- A copy on another CPU has those that were everybody's: it needs few of them, and
  -- none of them does harm.
  item.family, item.copies, item.whole_name = of, 1, true
  if copy then item.of = ("%s on CPU %d"):format(of, copy) end
  return item
end

--- Forget all connections.
function conntrack.clear()
  for _, t in pairs(tables) do
    flows[t]:clear()
    t.table.evicted = 0
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
