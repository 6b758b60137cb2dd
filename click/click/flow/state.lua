-- SPDX-License-Identifier: Apache-2.0
-- What elements keep of a flow: an area of the flow's record, which the flow manager in
-- front of them has made room for. A packet's annotation FLOW_ID says which record.
--
-- A class says of which C type its area is (`flow_state`, zeros at first), and may have
-- a method flow_ended(area), which is called before the flow's record is given back.
-- With `flow_moves` true an area is plain data, which may move to another copy on
-- another CPU (click.flow.moving): flow_left(area) and flow_came(area) are called.

local bit = require("bit")
local ffi = require("ffi")

local declare = require("core.declare")
local note = require("click.note")

declare("native/flows.h") -- which the next needs
local C = declare("native/flow_manager.h")

local state = {}

local band, rshift, cast = bit.band, bit.rshift, ffi.cast
local FLOW_ID, BITS = note.FLOW_ID, tonumber(C.FLOW_TAG_BITS)
local NUMBER = 2 ^ BITS - 1
local TAG = ffi.offsetof("struct click_flow_head", "tag")
local number_pointer = ffi.typeof("uint32_t *")

--- The number of the packet's flow, among those of its manager; 0: it has none.
function state.number(p) return band(p.note32[FLOW_ID], NUMBER) end

-- The area of a packet's flow if the manager is that of `place`. Whatever the
-- annotation says, it reads no more than records.
local function finder(place)
  local first, size, records, which, offset, pointer =
    place.records.record, place.records.size, place.records, place.manager,
    place.offset, place.pointer
  return function (p)
    local tag = p.note32[FLOW_ID]
    local number = band(tag, NUMBER)
    if rshift(tag, BITS) ~= which or number >= records.top then return nil end
    local record = first + number * size
    if cast(number_pointer, record + TAG)[0] ~= tag then return nil end
    return cast(pointer, record + offset)
  end
end

local function either(f, g)
  return function (p) return f(p) or g(p) end
end

--- A function of a packet: the area of element `e` in the record of the packet's flow,
--- or nil if it has none. For initialize(): without a flow manager in front of the
--- element that is an error, and nil.
function state.of(e)
  local places = rawget(e, "flow_places")
  if not places then
    e:error("no flow manager is in front of it, such as FlowIPManager")
    return nil
  end
  local find = finder(places[1])
  for i = 2, #places do find = either(find, finder(places[i])) end
  return find
end

local function align(n) return math.ceil(n / 8) * 8 end

--- The bytes that an area of that C type takes; 0 for nil.
function state.bytes_of(kind) return kind and align(ffi.sizeof(kind)) or 0 end

-- The elements behind `e`, up to other managers, as far as their classes have an area,
-- into `list`.
local function add_behind(router, e, list, seen)
  for o = 1, e.noutputs do
    for _, far in ipairs(router:joined(e, true, o)) do
      local other = far.element
      if not seen[other] and not other.class.manages_flows then
        seen[other] = true
        if other.class.flow_state then list[#list + 1] = other end
        add_behind(router, other, list, seen)
      end
    end
  end
  return list
end

--- Call e:flow_ended() for the flows that are left: cleanup() of a class whose areas
--- hold what must be given back.
function state.end_all(e)
  for _, place in ipairs(rawget(e, "flow_places") or {}) do
    for number in place.table:each() do
      local record = place.records.record + number * place.records.size
      e:flow_ended(cast(place.pointer, record + place.offset))
    end
  end
end

--- The areas of elements behind the manager, a list of {element =, offset =, size =,
--- pointer =}, and the bytes of a record's areas together; offsets are from `start`.
function state.lay_out(manager, start)
  local areas, at = {}, start
  for _, e in ipairs(add_behind(manager.router, manager, {}, {})) do
    local kind = e.class.flow_state
    areas[#areas + 1] = {element = e, offset = at, size = ffi.sizeof(kind),
      pointer = ffi.typeof("$ *", kind)}
    at = at + state.bytes_of(kind)
  end
  return areas, at - start
end

--- Tell the elements of the areas where these are: in the records of `table`
--- (net.flow.flow), by the manager's number.
function state.attach(areas, table, manager)
  for _, area in ipairs(areas) do
    area.table, area.manager, area.records = table, manager, table.table.records
    local e = area.element
    e.flow_places = rawget(e, "flow_places") or {}
    e.flow_places[#e.flow_places + 1] = area
  end
end

return state
