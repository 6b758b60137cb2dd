-- SPDX-License-Identifier: Apache-2.0
-- The calls of a breath by name, for those who show them (perigee plan). Pure.

local rounds = require("core.rounds")

local calls = {}

-- The method that the engine calls, or calls for each packet or burst.
local function method_of(app)
  if app.push then return "push" end
  return app.process_burst and "process_burst" or app.process and "process" or "push"
end

local function region_of(run, regions)
  for _, region in ipairs(regions) do
    for _, entry in ipairs(region.run) do
      if entry == run then return region end
    end
  end
end

--- The calls of a breath (core.engine.order) in their order, by name: pulls, a
--- list of apps; pushes, a list of {app =, link = its text, method =, region =
--- what the app is fused into or nil}; rounds, how often the pushes may be made
--- (core.rounds).
function calls.list(pulls, pushes, links, fused)
  local text = {}
  local list = {pulls = {}, pushes = {}, rounds = pushes.ports and rounds.MOST or 1}
  for spec, l in pairs(links) do text[l] = spec end
  for i = 1, pulls.n do list.pulls[i] = pulls[i].appname end
  for i = 1, pushes.n do
    local spec = text[pushes.link[i]]
    list.pushes[i] = {app = pushes.app[i].appname, link = spec,
                      method = method_of(pushes.app[i]),
                      region = region_of(fused.run[spec] or false, fused.regions)}
  end
  return list
end

local MOST_APPS = 6 -- of a region

local function text_of(push)
  local apps = push.region and push.region.description.apps or {}
  if #apps < 2 then return ("app '%s': in %s()"):format(push.app, push.method) end
  return ("the region of %s%s: in process()"):format(
    table.concat(apps, ", ", 1, math.min(#apps, MOST_APPS)),
    #apps > MOST_APPS and " and others" or "")
end

--- The calls of a breath as text, a line each: those of `list` (calls.list), and of
--- tick() of the apps `ticks`.
function calls.text(list, ticks)
  local lines = {}
  for _, name in ipairs(list.pulls) do
    lines[#lines + 1] = ("app '%s': in pull()"):format(name)
  end
  for _, push in ipairs(list.pushes) do lines[#lines + 1] = text_of(push) end
  for _, app in ipairs(ticks) do
    lines[#lines + 1] = ("app '%s': in tick()"):format(app.appname)
  end
  return table.concat(lines, "\n")
end

return calls
