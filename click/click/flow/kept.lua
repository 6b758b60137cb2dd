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
local going_on = require("net.keep.going_on")
local log = require("core.lib.log")
local tables = require("net.keep.tables")

local MORE = {
  [C.AREAS_OTHERS] = "kept by elements that are others now",
  [C.AREAS_SERVER] = "of a server that is gone",
  [C.AREAS_PORT] = "whose port another one has",
  [C.AREAS_COPY] = "whose answers come to another CPU",
}
local OUTCOMES = 16 -- more than there are
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

local kept = {}

--- The item for net.keep of the manager; nil: it keeps nothing.
function kept.item(self)
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

-- Outcomes by reasons, as a sentence has them; and how many flows aren't used.
local function unused(outcomes, reasons)
  local list, n = {}, 0
  for i = 1, OUTCOMES - 1 do
    local count = tonumber(outcomes[i])
    if count > 0 then
      list[#list + 1], n = ("%d %s"):format(count, reasons[i] or "unused"), n + count
    end
  end
  return table.concat(list, ", "), n
end

--- Go on with the flows of `old`, which this manager takes the place of (hotconfig): as
--- with those of a former process, from its memory. It takes as long as the
--- additions, before packets pass.
function kept.take(self, old)
  local item = kept.item(self)
  if not (item and old.table) then return end
  local from, to = old.table.table, self.table.table
  local areas, anchor = item.restore.context(notes_of(old.areas))
  if from.records.size ~= to.records.size or from.records.age_at ~= to.records.age_at
  then
    areas.refused = C.AREAS_OTHERS
  end
  local outcomes = ffi.new("uint64_t[?]", OUTCOMES)
  if item.see then
    C.pg_flow_areas_see_all(areas, from)
    item.seen()
  end
  C.pg_flow_areas_take(areas, from, item.now(), outcomes)
  item.done()
  old.is_over = true
  outcomes[C.KEEP_OLD] = 0 -- their time is over in any case
  local why, n = unused(outcomes, item.restore.reasons)
  local used = tonumber(outcomes[0])
  if n > 0 then
    log.info("%s goes on with %d of %d flows; not used: %s", self.name, used, used + n,
      why)
  end
  return anchor
end

--- The router of the manager is closed, and another manager has its flows: give its
--- memory and files back, unless net.keep still goes on with a former process's.
function kept.let_go(self)
  if not rawget(self, "is_over") or going_on.is_at_work() then return end
  self.table:close()
  self.table = nil
end

return kept
