-- SPDX-License-Identifier: Apache-2.0
-- What of a flow manager's flows outlives the process (src/net/keep): the flows, and
-- what elements behind keep of them, whose classes have
--
--   kept_notes(self)          a line that says what numbers in an area stand for
--   flow_kept(self, area, notes)
--                             why the flow of a former process can't go on, or nil; the
--                             area is a copy, which it may change. `notes`: the line of
--                             that process
--   flow_goes_on(self, area)  the flow is there
--   flows_kept(self)          that was all
--
-- All but flow_kept() may be left out; without that one an area begins with zeros.

local ffi = require("ffi")
local C = require("core.native")
local tables = require("net.keep.tables")

local LAYOUT = "click_flow_head 1" -- another number with each change

local function area_text(area)
  local e = area.element
  return ("%d %d %s %s"):format(area.offset, area.size, e.class.name, e.name)
end

-- A line for each area, and one for what its numbers stand for.
local function notes_of(areas)
  local lines = {}
  for _, area in ipairs(areas) do
    local e = area.element
    lines[#lines + 1] = area_text(area)
    lines[#lines + 1] = e.kept_notes and e:kept_notes() or ""
  end
  return table.concat(lines, "\n") .. "\n"
end

-- What the lines say of each area; nil: those are others now.
local function read_notes(areas, notes)
  local lines, by_area = {}, {}
  for line in notes:gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
  if #areas > 0 and #lines ~= 2 * #areas then return nil end
  for i, area in ipairs(areas) do
    if lines[2 * i - 1] ~= area_text(area) then return nil end
    by_area[area] = lines[2 * i]
  end
  return by_area
end

-- Does the flow come to this copy (src/native/kernels/flows.c)?
local function is_own(copy, id)
  local hash = C.pg_tuple_hash(id.source, id.destination, id.sport + id.dport * 2 ^ 16)
  return C.pg_copy_of(hash, copy.of) == copy.number
end

local function at(record, area)
  return ffi.cast(area.pointer, ffi.cast("uint8_t *", record) + area.offset)
end

local function check(areas, former, record)
  for _, area in ipairs(areas) do
    local e, copy = area.element, at(record, area)
    if e.flow_kept then
      local problem = e:flow_kept(copy, former[area])
      if problem then return problem end
    else
      ffi.fill(copy, area.size)
    end
  end
end

--- The item for net.keep of the manager; nil: it keeps nothing.
return function (self)
  local flows, areas, tag = self.table, self.areas, self.native and self.native.tag
  if not flows or self.class.own_state then return nil end
  local copy = self.router.options.copy
  local item = tables.item{
    of = self.name, layout = LAYOUT, flows = flows, notes = notes_of(areas),
    now = function () return self:time() end,
    check = function (record, notes, foreign)
      if foreign and copy and not is_own(copy, record.key) then return tables.PASS end
      local former = read_notes(areas, notes)
      if not former then return "kept by elements that are others now" end
      return check(areas, former, record)
    end,
    used = function (record, number)
      ffi.cast("struct click_flow_head *", record).tag = tag + number
      for _, area in ipairs(areas) do
        local e = area.element
        if e.flow_goes_on then e:flow_goes_on(at(record, area)) end
      end
    end,
  }
  item.done = function ()
    for _, area in ipairs(areas) do
      if area.element.flows_kept then area.element:flows_kept() end
    end
  end
  return item
end
