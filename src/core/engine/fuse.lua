-- SPDX-License-Identifier: Apache-2.0
-- Per-packet apps (process(p), process_burst(packets, n, outputs)) in the
-- engine: the regions they are fused into, and what runs those that are not.
-- A region whose apps and links are as before is kept, with its compiled code.

local alone = require("core.engine.fuse.alone")
local config = require("core.config")
local region = require("core.engine.fuse.region")
local regions = require("core.engine.fuse.regions")

local fuse = {}

local Fused = {}
Fused.__index = Fused

--- Nothing is fused.
function fuse.none()
  return setmetatable({
    regions = {}, run = {}, over = {}, pulled = {}, push = {}, reasons = {},
  }, Fused)
end

--- Bring the counters of fused links up to date.
function Fused:account()
  for _, r in ipairs(self.regions) do r:account() end
end

-- Are the apps and links of `found` those that `old` was made of?
local function unchanged(old, found, apps, links)
  local d = old.description
  if table.concat(d.apps, " ") ~= table.concat(found.apps, " ") then return false end
  for _, name in ipairs(found.apps) do
    if d.app_of[name] ~= apps[name] then return false end
  end
  local function same(list)
    for _, spec in ipairs(list) do
      local from, _, to = config.parse_link(spec)
      if old.link_of[spec] ~= links[spec] or old.ends[from] ~= apps[from]
          or old.ends[to] ~= apps[to] then
        return false
      end
    end
    return true
  end
  return table.concat(d.entries, ";") == table.concat(found.entries, ";")
    and table.concat(d.exits, ";") == table.concat(found.exits, ";")
    and table.concat(config.sorted_keys(d.inner), ";")
      == table.concat(config.sorted_keys(found.inner), ";")
    and same(found.entries) and same(found.exits)
    and same(config.sorted_keys(found.inner))
end

-- Every output of the app that has links leads to regions that fetch directly.
local function all_direct(fused, name, links)
  for spec in pairs(links) do
    local from = config.parse_link(spec)
    if from == name and not fused.run[spec] then return false end
  end
  return true
end

local function take_over(fused, r, links)
  local d = r.description
  for spec in pairs(d.inner) do fused.over[spec] = true end
  for i, spec in ipairs(d.entries) do fused.run[spec] = r.run[i] end
  for _, spec in ipairs(d.exits) do
    local _, _, to = config.parse_link(spec)
    if r.direct[to] then fused.over[spec] = true end
  end
  for name in pairs(r.direct) do
    if all_direct(fused, name, links) then fused.pulled[name] = true end
  end
end

--- Plan how the running `apps` and `links` are fused; `old` is the plan before.
--- With `wanted` false nothing is, and each per-packet app runs by itself.
function fuse.plan(apps, links, wanted, old)
  local fused = fuse.none()
  local found, reasons = {}, {}
  if wanted then found, reasons = regions.find(apps, links) end
  fused.reasons = reasons
  for _, f in ipairs(found) do
    local kept
    for _, r in ipairs(old.regions) do
      if unchanged(r, f, apps, links) then kept = r end
    end
    if not kept then alone.drain(f, apps, links) end
    local r = kept or region.new(f, apps, links)
    fused.regions[#fused.regions + 1] = r
  end
  for _, r in ipairs(fused.regions) do take_over(fused, r, links) end
  for name, app in pairs(apps) do
    if not app.push and not (wanted and not reasons[name]) then
      fused.push[name] = alone.push_of(app)
    end
  end
  return fused
end

return fuse
