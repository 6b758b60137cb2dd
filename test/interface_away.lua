-- SPDX-License-Identifier: Apache-2.0
-- test/interface_away.lua LEFT RIGHT AWAY: bridges the ports LEFT and RIGHT, and sends
-- a copy of what comes from LEFT to the port AWAY, too. Any of the three may be on a
-- CPU of its own (--cpus).

local Port = require("apps.port.port").Port
local basic = require("apps.basic.basic_apps")

local left, right, away = ...
local c = config.new()
config.app(c, "left", Port, left)
config.app(c, "right", Port, right)
config.app(c, "away", Port, away)
config.app(c, "tee", basic.Tee)
config.app(c, "sink", basic.Sink)
config.link(c, "left.output -> tee.input")
config.link(c, "tee.output1 -> right.input")
config.link(c, "tee.output2 -> away.input")
config.link(c, "right.output -> left.input")
config.link(c, "away.output -> sink.input")
engine.configure(c)
print("begins")
io.stdout:flush()
engine.main()
