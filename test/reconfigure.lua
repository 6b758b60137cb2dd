-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/reconfigure.lua PORT CHANGE: PORT's packets pass three apps to
-- a sink, and every 10 ms the configuration changes: "elsewhere", two apps on
-- another path come or go; "path", an app of the path does. Ends half a second
-- after the last packet, and prints the report and how many packets got through.

local C = require("core.native")
local basic = require("apps.basic.basic_apps")
local Fwd = require("apps.fwd.fwd").Fwd
local Port = require("apps.port.port").Port

local port, change = ...
local CHANGES, PERIOD_NS, QUIET_S = 20, 10e6, 0.5
local LINKS_OF_PATH = {
  [true] = {"a.output -> extra.input", "extra.output -> b.input"},
  [false] = {"a.output -> b.input"},
}

local function graph(odd)
  local c = config.new()
  config.app(c, "port", Port, port)
  for _, name in ipairs{"a", "b", "c"} do config.app(c, name, Fwd) end
  config.app(c, "sink", basic.Sink)
  local detour = odd and change == "path"
  if detour then config.app(c, "extra", Fwd) end
  for _, spec in ipairs(LINKS_OF_PATH[detour]) do config.link(c, spec) end
  for _, spec in ipairs{"port.output -> a.input", "b.output -> c.input",
                        "c.output -> sink.input"} do
    config.link(c, spec)
  end
  if odd and change == "elsewhere" then
    config.app(c, "x", Fwd)
    config.app(c, "y", Fwd)
    config.link(c, "x.output -> y.input")
  end
  return c
end

engine.configure(graph(false))
engine.busywait = true
local changes, received, quiet_since = 0, 0, engine.now()
timer.activate(timer.new("change", function ()
  if received > 0 and changes < CHANGES then
    changes = changes + 1
    engine.configure(graph(changes % 2 == 1))
  end
end, PERIOD_NS, "repeating"))

engine.main{done = function ()
  local now = tonumber(engine.app_table.port.port.rxpackets)
  if now ~= received then received, quiet_since = now, C.pg_now() end
  return received > 0 and C.pg_now() > quiet_since + QUIET_S
end}
print("received " .. received .. ", changes " .. changes)
