-- SPDX-License-Identifier: Apache-2.0
-- A table of flows that one element has for itself: it needs no flow manager in front
-- of it, and the packets' annotation stays as it was.

local areas = require("click.flow.areas")
local ffi = require("ffi")
local flow = require("net.flow.flow")
local note = require("click.note")

local own_table = {}

local cast, manage = ffi.cast, areas.pg_flow_manage
local FLOW_ID = note.FLOW_ID
local HEAD = ffi.sizeof("struct click_flow_head")
local bytes_pointer = ffi.typeof("uint8_t *")

local Own = {}
Own.__index = Own

--- A table of up to `limit` flows, with `bytes` bytes for each, zeros at first.
function own_table.new(limit, bytes)
  local table = flow.new{
    key = ffi.typeof("struct click_flow_id"), limit = limit,
    value = ffi.typeof(("struct { uint64_t tag; uint8_t area[%d]; }"):format(
      math.ceil(bytes / 8) * 8)),
  }
  local native = ffi.new("struct click_flow_manager")
  native.table = table.table
  return setmetatable({table = table, native = native}, Own)
end

--- The bytes of the packet's flow, and whether it is new; nil if the packet has no IPv4
--- header, nil and "full" if there is no room for another flow.
function Own:area(p)
  local noted, native = p.note32[FLOW_ID], self.native
  local number = manage(native, p, 0)
  p.note32[FLOW_ID] = noted
  if number == 0 then return nil, "full" end
  if number < 0 then return nil end
  local records = self.table.table.records
  return cast(bytes_pointer, records.record) + number * records.size + HEAD,
    native.added ~= 0
end

--- How many flows there are.
function Own:count() return self.table:count() end

return own_table
