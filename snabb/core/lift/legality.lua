-- SPDX-License-Identifier: Apache-2.0
-- Where Snabb's apps that could be lifted mustn't be: in a region a packet goes all the
-- way before the next one begins, so that packets of several paths would meet in
-- another order than with links, and go round a loop at once. Pure.

local config = require("core.config")
local aliasing = require("core.lift.aliasing")

local legality = {}

local IN_LOOP = "it is part of a loop"
local MEETING = "packets that it sends meet those of another path"
local SHARED = "push() uses state before its loop that a neighbouring app modifies"
local AT_ANY_TIME = "packets come at any time, and it does something once for each call"

--- The reason for those that nothing beside them is fused with.
legality.ALONE = "no neighbouring app or port is fused"

-- For each app of the region those that links within it come from, one for each link.
local function predecessors(region)
  local before = {}
  for _, spec in ipairs(config.sorted_keys(region.inner)) do
    local from, _, to = config.parse_link(spec)
    before[to] = before[to] or {}
    table.insert(before[to], from)
  end
  return before
end

-- Give all lifted apps that lead to `name` the reason.
local function refuse_before(name, before, apps, odd, seen)
  for _, from in ipairs(before[name] or {}) do
    if not seen[from] then
      seen[from] = true
      if apps[from].lifted_from then odd[from] = MEETING end
      refuse_before(from, before, apps, odd, seen)
    end
  end
end

local function beside_port(region, apps)
  for _, list in ipairs{region.entries, region.exits} do
    for _, spec in ipairs(list) do
      local from, _, to = config.parse_link(spec)
      if apps[from].direct or apps[to].direct then return true end
    end
  end
  return false
end

-- Do packets come by emit() of a source within the region, past its entries?
local function has_source(region, apps)
  for _, name in ipairs(region.apps) do
    if apps[name].emits and not apps[name].lifted_from then return true end
  end
  return #region.entries == 0
end

-- The set of the names of those that do something before their loop which depends on
-- others in the region, or they on it.
local function sharing_ones(region, apps)
  local places, any = {}, false
  for _, name in ipairs(region.apps) do any = any or apps[name].before end
  for _, name in ipairs(any and region.apps or {}) do
    if apps[name].lifted_from then places[name] = apps[name].places() end
  end
  return aliasing.found(places)
end

local function reason(region, name, apps, shares)
  if next(region.closing) or region.looped then return IN_LOOP end
  if #region.apps == 1 and not beside_port(region, apps) then return legality.ALONE end
  if not apps[name].before then return nil end
  return has_source(region, apps) and AT_ANY_TIME or shares[name] and SHARED or nil
end

--- The lifted apps (core.lift.lift) in the `regions` (core.fuse.partition) of `apps`
--- that must not be: a table from their names to the reasons.
function legality.of(regions, apps)
  local odd = {}
  for _, region in ipairs(regions) do
    local before, shares = predecessors(region), sharing_ones(region, apps)
    for _, name in ipairs(region.apps) do
      if #(before[name] or {}) > 1 then
        refuse_before(name, before, apps, odd, {})
      end
      if apps[name].lifted_from then
        odd[name] = odd[name] or reason(region, name, apps, shares)
      end
    end
  end
  return odd
end

return legality
