-- SPDX-License-Identifier: Apache-2.0
-- perigee run examples/bridge.lua PORT PORT [SECONDS]
-- Joins two ports: what comes in at one goes out at the other. Ends after SECONDS,
-- when both ports were files and have ended, or with Ctrl-C.

local failure = require("core.failure")
local port = require("apps.port.port")

local left, right, seconds = ...
if not right or (seconds and not tonumber(seconds)) then
  failure.usage("give two ports: bridge.lua PORT PORT [SECONDS]")
end

local c = config.new()
config.app(c, "left", port.Port, left)
config.app(c, "right", port.Port, right)
config.link(c, "left.output -> right.input")
config.link(c, "right.output -> left.input")
engine.configure(c)

local ends = engine.now() + (tonumber(seconds) or math.huge)
engine.main{done = function ()
  local apps = engine.app_table
  for _, l in pairs(engine.link_table) do
    if not link.empty(l) then return engine.now() >= ends end
  end
  return engine.now() >= ends or (apps.left:ended() and apps.right:ended())
end}
