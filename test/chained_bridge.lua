-- SPDX-License-Identifier: Apache-2.0
-- For test_veth.py and test_processes.py: joins two ports by a chain of apps each way.
-- Arguments: the two ports, the apps in each chain, the seconds to run (default: until
-- a signal).

local config = require("core.config")
local engine = require("core.app")
local Fwd = require("apps.fwd.fwd").Fwd
local Port = require("apps.port.port").Port

local function chain(c, from, to, length)
  local last = from .. ".output"
  for i = 1, tonumber(length) do
    local name = ("%s_to_%s_%d"):format(from, to, i)
    config.app(c, name, Fwd)
    config.link(c, ("%s -> %s.input"):format(last, name))
    last = name .. ".output"
  end
  config.link(c, ("%s -> %s.input"):format(last, to))
end

local left, right, length, seconds = ...
local c = config.new()
config.app(c, "left", Port, left)
config.app(c, "right", Port, right)
chain(c, "left", "right", length)
chain(c, "right", "left", length)
engine.configure(c)
engine.main{duration = tonumber(seconds)}
