-- SPDX-License-Identifier: Apache-2.0
-- What of a flow manager's flows outlives the process (src/net/keep): the flows, and
-- what elements behind keep of them, whose classes have
--
--   kept_notes(self)          a line that says what numbers in an area stand for
--   kept_area(self, a, notes) fills the struct click_area `a` (flow_areas.h), by which
--                             C goes on with areas. `notes`: the line of the former
--                             process; why none of its flows can go on, or nil
--   kept_seen(self)           where flows have ports: those of a file are known
--   kept_done(self)           that was all
--
-- All may be left out; without kept_area() an area begins with zeros.

local C = require("click.flow.areas")
local ffi = require("ffi")
local tables = require("net.keep.tables")

local MORE = {
  [C.AREAS_OTHERS] = "kept by elements that are others now",
  [C.AREAS_SERVER] = "of a server that is gone",
  [C.AREAS_PORT] = "whose port another one has",
  [C.AREAS_COPY] = "whose answers come to another CPU",
}
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

-- f of each area's element, if its class has that method.
local function tell(areas, method)
  for _, area in ipairs(areas) do
    local f = area.element[method]
    if f then f(area.element) end
  end
end

-- By what C goes on with the flows of a file with these notes, and what that needs.
local function context_of(self, reasons, notes)
  local areas = self.areas
  local list = ffi.new("struct click_area[?]", #areas + 1)
  local all = ffi.new("struct click_areas", {table = self.table.table, area = list,
    n = #areas, tag = self.native.tag})
  local copy = self.router.options.copy
  if copy then all.copies, all.copy = copy.takers or copy.of, copy.number end
  local former = read_notes(areas, notes)
  if not former then all.refused = C.AREAS_OTHERS end
  for i, area in ipairs(former and areas or {}) do
    local a, e = list[i - 1], area.element
    a.offset, a.size = area.offset, area.size
    local refused = e.kept_area and e:kept_area(a, former[area])
    if refused then
      reasons[C.AREAS_SOURCE], all.refused = refused, C.AREAS_SOURCE
    end
  end
  return all, list
end

--- The item for net.keep of the manager; nil: it keeps nothing.
return function (self)
  local flows, areas = self.table, self.areas
  if not flows or self.class.own_state then return nil end
  local restore = tables.in_c(flows, C.pg_flow_areas_restore, nil, MORE)
  local reasons = restore.reasons
  restore.own = C.pg_flow_areas_is_own
  function restore.context(notes) return context_of(self, reasons, notes) end
  local item = tables.item{of = self.name, layout = LAYOUT, flows = flows,
    notes = notes_of(areas), now = function () return self:time() end,
    restore = restore}
  for _, area in ipairs(areas) do
    if area.element.kept_seen then item.see = C.pg_flow_areas_see end
  end
  function item.seen() tell(areas, "kept_seen") end
  function item.done() tell(areas, "kept_done") end
  return item
end
