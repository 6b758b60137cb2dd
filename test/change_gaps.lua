-- SPDX-License-Identifier: Apache-2.0
-- perigee -p test/lua run test/change_gaps.lua CHANGES: on each CPU packets pass from a
-- source to a sink, and CHANGES times an app comes in between, or goes, on all CPUs at
-- once. Prints "ready" when the changes begin, and the report at the end, in which each
-- source has its longest time between two looks.

local affinity = require("core.cpus.affinity")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local Fwd = require("apps.fwd.fwd").Fwd
local Looked = require("testing.looked").Looked

local WARM_UP, PERIOD = 2, 0.1 -- seconds

local changes = tonumber((...))
local from = engine.now() + WARM_UP

local function graph(longer)
  local c = config.new()
  for i, cpu in ipairs(affinity.cpus()) do
    local apps = {{"looked" .. i, Looked, {from = from}}, {"sink" .. i, basic.Sink}}
    if longer then table.insert(apps, 2, {"extra" .. i, Fwd}) end
    for at, app in ipairs(apps) do
      config.app(c, unpack(app))
      config.cpu(c, app[1], cpu)
      if at > 1 then
        config.link(c, ("%s.output -> %s.input"):format(apps[at - 1][1], app[1]))
      end
    end
  end
  return c
end

engine.configure(graph(false))
local made, next_one = 0, from
engine.main{done = function ()
  if engine.now() < next_one then return false end
  if made == changes then return true end
  if made == 0 then
    print("ready")
    io.flush()
  end
  made = made + 1
  engine.configure(graph(made % 2 == 1))
  next_one = engine.now() + PERIOD
end}
