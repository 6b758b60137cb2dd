-- SPDX-License-Identifier: Apache-2.0
-- Flows that move from one copy of a router to another, on another CPU, while neither
-- runs (core.cpus.balancer): what flow managers, and elements behind them, keep of them
-- (click.flow.state).

local ffi = require("ffi")

local buckets_of = require("core.native").FLOW_BUCKETS
local declare = require("core.declare")

declare("native/flows.h") -- which the next needs
local C = declare("native/flow_manager.h")

local moving = {}

local ROOM = 256 -- records at first
local HEAD = ffi.sizeof("struct click_flow_head")
local bytes_pointer = ffi.typeof("uint8_t *")

ffi.cdef[[
void *realloc(void *from, size_t size);
void free(void *from);
]]

-- The router's flow managers, in the order of its elements, which all copies have.
local function managers(router)
  local list = {}
  for _, e in ipairs(router.elements) do
    if e.class.manages_flows then list[#list + 1] = e end
  end
  return list
end

local function tell(manager, what, record)
  for _, area in ipairs(manager.areas) do
    local f = area.element[what]
    if f then f(area.element, ffi.cast(area.pointer, record + area.offset)) end
  end
end

local function record_of(manager, number)
  local records = manager.table.table.records
  return records.record + number * records.size, records.size
end

-- What the manager's flows of the buckets are, in memory of its own: {address =, n =,
-- room = of so many flows}. The room for them moves along, so that all copies together
-- have as much as they had, and a copy that is full has it for flows that come to it.
local function give_one(manager, buckets)
  local room, n, memory = 0, 0, nil
  local number = C.pg_flow_manage_next(manager.native, 0, buckets)
  while number ~= 0 do
    local record, size = record_of(manager, number)
    if n == room then
      room = math.max(ROOM, 2 * room)
      local more = ffi.C.realloc(memory, room * size)
      if more == nil then break end -- those that are left begin anew there
      memory = more
    end
    ffi.copy(ffi.cast(bytes_pointer, memory) + n * size, record, size)
    n = n + 1
    tell(manager, "flow_left", record)
    ffi.cast("struct click_flow_head *", record).tag = 0
    manager.table:remove(number)
    number = C.pg_flow_manage_next(manager.native, number, buckets)
  end
  local t = manager.table.table
  local room_too = math.min(n, t.limit - 1)
  t.limit = t.limit - room_too
  return {address = tonumber(ffi.cast("uintptr_t", memory)), n = n, room = room_too}
end

--- Let go of the router's flows of these buckets, a list: a list of what each of its
--- flow managers had, for moving.take() of another copy.
function moving.give(router, list)
  local buckets, given = ffi.new("uint8_t[?]", buckets_of + 1), {}
  for _, bucket in ipairs(list) do buckets[bucket] = 1 end
  for i, manager in ipairs(managers(router)) do
    given[i] = give_one(manager, buckets)
  end
  return given
end

-- Of the record at `from`, which has been in another copy's table. False: there is no
-- room.
local function take_one(manager, from, now)
  local number = manager.table:add(from, now)
  if number == 0 then return false end
  local record = record_of(manager, number)
  ffi.copy(record + HEAD, from + HEAD, manager.kept - HEAD)
  ffi.cast("struct click_flow_head *", record).tag = manager.native.tag + number
  tell(manager, "flow_came", record)
  return true
end

--- Take what another copy has given. Their time of being idle begins anew. {n = how
--- many flows there was room for}.
function moving.take(router, given)
  local taken = 0
  for i, manager in ipairs(managers(router)) do
    local memory = ffi.cast(bytes_pointer, given[i].address)
    local t = manager.table.table
    t.limit = t.limit + given[i].room
    local _, size = record_of(manager, 0)
    for k = 0, given[i].n - 1 do
      if take_one(manager, memory + k * size, manager:time()) then taken = taken + 1 end
    end
    ffi.C.free(memory)
  end
  return {n = taken}
end

return moving
