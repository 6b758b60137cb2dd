-- SPDX-License-Identifier: Apache-2.0
-- For tests that run for a while: two ports, joined each way by three apps that only
-- pass packets on, with a Tee on one of the ways.

local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local Fwd = require("apps.fwd.fwd").Fwd
local Port = require("apps.port.port").Port

local LINKS = {"left.output -> there1.input", "there1.output -> there2.input",
  "there2.output -> tee.input", "tee.output -> there3.input",
  "there3.output -> right.input", "right.output -> back1.input",
  "back1.output -> back2.input", "back2.output -> back3.input",
  "back3.output -> left.input"}

--- The configuration, of these ports (strings).
return function (left, right)
  local c = config.new()
  config.app(c, "left", Port, left)
  config.app(c, "right", Port, right)
  config.app(c, "tee", basic.Tee)
  for i = 1, 3 do
    config.app(c, "there" .. i, Fwd)
    config.app(c, "back" .. i, Fwd)
  end
  for _, spec in ipairs(LINKS) do config.link(c, spec) end
  return c
end
