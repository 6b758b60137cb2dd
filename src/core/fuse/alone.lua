-- SPDX-License-Identifier: Apache-2.0
-- Per-packet apps by themselves, between links, as when nothing is fused. Also what a
-- fused region must do exactly as well as this.

local bulk = require("core.fuse.bulk")
local config = require("core.config")
local drops = require("core.fuse.drops")
local link = require("core.link")
local packet = require("core.packet")
local running_app = require("core.watch.running_app")

local alone = {}

local ONE_OUTPUT = {"output"}
local NONE = {}

local function lose(app, reason, p)
  drops.add(app, reason, 1)
  packet.free(p)
end

local function pass(app, outputs, p, o)
  local name = outputs[o or 1]
  local l = name and app.output[name]
  if l then
    link.transmit(l, p)
  else
    lose(app, name and "no link at " .. name or "no such output", p)
  end
end

local function process_all(app, outputs, l, n)
  for _ = 1, n do
    local p = link.receive(l)
    local q, o = app:process(p)
    if q == nil then
      lose(app, (app.drops or NONE)[o] or "dropped", p)
    else
      pass(app, outputs, q, o)
    end
  end
end

running_app.caller(process_all, "process", 1, function (variables)
  return {variables.p}
end)

local function push(app)
  local outputs = app.outputs or ONE_OUTPUT
  for i = 1, #app.input do
    process_all(app, outputs, app.input[i], link.nreadable(app.input[i]))
  end
end

--- The push(app) of a per-packet or bulk app that isn't fused, or nil.
function alone.push_of(app)
  return app.process_burst and bulk.push_of(app) or app.process and push
end

--- Move what waits in the links inside the region `found` on, app by app in
--- topological order, so that they are empty when it is fused. Returns the first
--- error that an app raised, if any; the packet at hand is then that app's.
function alone.drain(found, apps, links, explain)
  local problem
  local into = {}
  for _, spec in ipairs(config.sorted_keys(found.inner)) do
    local _, _, to = config.parse_link(spec)
    into[to] = into[to] or {}
    table.insert(into[to], links[spec])
  end
  for _, name in ipairs(found.apps) do
    local app = apps[name]
    for _, l in ipairs(into[name] or NONE) do
      while not link.empty(l) do
        local ok, err = xpcall(process_all, explain, app, app.outputs or ONE_OUTPUT, l,
          link.nreadable(l))
        if not ok then problem = problem or err end
      end
    end
  end
  return problem
end

return alone
