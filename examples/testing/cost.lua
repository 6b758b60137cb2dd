-- SPDX-License-Identifier: Apache-2.0
-- perigee run examples/testing/cost.lua PORT SECONDS: what does ToPort cost a packet?
-- The packets of PORT go through it to the null port; the report says it.

local Port = require("apps.port.port").Port
local ToPort = require("to_port").ToPort

local port, seconds = ...

local c = config.new()
config.app(c, "from", Port, port)
config.app(c, "to_port", ToPort, {port = 53})
config.app(c, "to", Port, "null")
config.link(c, "from.output -> to_port.input")
config.link(c, "to_port.output -> to.input")
engine.configure(c)
engine.main{duration = tonumber(seconds)}
