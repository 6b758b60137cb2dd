-- SPDX-License-Identifier: Apache-2.0
-- Joins two ports by a chain of apps each way:
--
--   perigee run examples/bridge_two.lua packet:eth1 packet:eth2 5 60
--
-- takes the two ports, the apps in each chain (default 1) and the seconds to run
-- (default: until Ctrl-C).

local config = require("core.config")
local engine = require("core.app")
local failure = require("core.failure")
local Fwd = require("apps.fwd.fwd").Fwd
local Port = require("apps.port.port").Port

local function chain(c, from, to, length)
  local last = from .. ".output"
  for i = 1, length do
    local name = ("%s_to_%s_%d"):format(from, to, i)
    config.app(c, name, Fwd)
    config.link(c, ("%s -> %s.input"):format(last, name))
    last = name .. ".output"
  end
  config.link(c, ("%s -> %s.input"):format(last, to))
end

local left, right, length, seconds = ...
if not right then
  failure.usage("bridge_two needs two ports, such as packet:eth1 packet:eth2")
end
length = tonumber(length or 1)

local c = config.new()
config.app(c, "left", Port, left)
config.app(c, "right", Port, right)
chain(c, "left", "right", length)
chain(c, "right", "left", length)
engine.configure(c)
engine.main{duration = tonumber(seconds)}
