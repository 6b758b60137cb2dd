-- SPDX-License-Identifier: Apache-2.0
-- What the source and the counters of a fused region are made of: its apps, where their
-- outputs lead, and the events that are counted. Pure, but for the apps it refers to.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local unfused = require("core.fuse.unfused")
local config = require("core.config")
local contract = require("core.fuse.contract")
local packet_paths = require("core.fuse.packet_paths")

local description = {}

local function add_event(r, event)
  r.events[#r.events + 1] = event
  return #r.events
end

-- What is sent by emit() through this output is counted for itself, unless it leaves
-- the region.
local function add_emission(r, name, lead)
  if lead.kind == "app" then
    lead.emitted = add_event(r, {app = name, output = lead.output})
  elseif lead.kind == "none" then
    lead.undone = add_event(r, {app = name, drop = "no link at " .. lead.output})
  end
end

-- What each output of the app leads to, in the order of the class's outputs; and
-- the events of it: outputs but the first, outputs without a link, or back in a loop.
local function add_outputs(r, name)
  for i, output in ipairs(r.app_of[name].outputs or {"output"}) do
    local lead = r.leads[name][output] or {kind = "none"}
    r.leads[name][output] = lead
    lead.output = output
    r.outputs[name][i] = lead
    if i > 1 or lead.kind == "none" or lead.closing then
      lead.event = add_event(r, {app = name, output = output,
        drop = lead.kind == "none" and "no link at " .. output or nil})
    end
    if r.app_of[name].emits then add_emission(r, name, lead) end
  end
end

-- The events of packets that come to the app and no further: its drops, those its class
-- names and "dropped"; an output it doesn't have; errors; what it keeps; and what has
-- been in a loop for too long.
local function add_losses(r, name)
  local k = r.index[name]
  local function add(event)
    event.app = name
    return add_event(r, event)
  end
  r.first_loss[k], r.losses[k] = add{drop = "dropped"}, {}
  for i, reason in ipairs(r.app_of[name].drops or {}) do
    r.losses[k][i] = add{drop = reason}
  end
  r.astray[k] = add{drop = "no such output"}
  r.raised[k], r.kept[k] = add{raised = true}, add{raised = true}
  for _, back in ipairs(r.backs) do
    if back.to == name then back.looped = add{drop = unfused.LOOPED} end
  end
  r.last_loss[k] = #r.events
  if r.app_of[name].emits then
    r.strays[k] = add_event(r, {app = name, drop = "no such output"})
  end
end

--- Are the bytes that leave for this app to be added up? A bulk app's link needs them,
--- and in a region's loop the lengths are at hand.
function description.weighed(app)
  return app.process_burst ~= nil
end

local function add_lead(r, spec, lead, apps)
  local from, output, to, input = config.parse_link(spec)
  lead.spec, lead.to = spec, to
  lead.input = contract.number_of(apps[to], input)
  r.leads[from][output] = lead
  return lead
end

--- Describe the region `found` (core.fuse.partition) of the running `apps` and
--- `links`. What the result has besides core.fuse.source's:
--- sums (whether the bytes that come in must
--- be added up), links (by text), events (a list of {app =,
--- drop = why or nil, raised = whether the app has it}); by number of the app
--- first_loss and last_loss, between which are the events of packets it doesn't pass
--- on.
function description.of(found, apps, links)
  local r = {
    apps = found.apps, entries = found.entries, exits = found.exits,
    inner = found.inner, closing = found.closing, puts = found.puts,
    ahead = found.ahead,
    app_of = {}, index = {}, leads = {}, outputs = {}, ways = {}, backs = {},
    events = {}, first_loss = {}, last_loss = {}, losses = {}, astray = {},
    strays = {}, raised = {}, kept = {}, links = {}, weighed = {}, lengthens = {},
    bound = {}, spread = false,
    -- With one entry they follow from what leaves, but in a loop, or with emit().
    sums = found.puts or #found.entries > 1 or found.looped, looped = found.looped,
  }
  for _, list in ipairs{r.entries, r.exits, config.sorted_keys(r.inner)} do
    for _, spec in ipairs(list) do r.links[spec] = links[spec] end
  end
  for i, name in ipairs(r.apps) do
    r.app_of[name], r.index[name] = apps[name], i
    r.lengthens[i] = apps[name].lengthens or false
    r.bound[i] = apps[name].bound or false
    r.leads[name], r.outputs[name] = {}, {}
  end
  for _, spec in ipairs(config.sorted_keys(r.inner)) do
    local lead = add_lead(r, spec, {kind = "app"}, apps)
    if r.closing[spec] then
      r.backs[#r.backs + 1] = lead
      lead.closing = #r.backs
    end
  end
  for x, spec in ipairs(r.exits) do
    local lead = add_lead(r, spec, {kind = "exit", exit = x}, apps)
    r.weighed[x] = description.weighed(apps[lead.to])
  end
  for i, spec in ipairs(r.entries) do
    local _, _, to, input = config.parse_link(spec)
    r.ways[i] = {to = to, input = contract.number_of(apps[to], input)}
  end
  for _, name in ipairs(r.apps) do
    add_losses(r, name)
    add_outputs(r, name)
    if #r.outputs[name] > 1 then r.spread = packet_paths.known(r.apps[1]) end
  end
  return r
end

return description
