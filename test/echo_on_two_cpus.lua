-- SPDX-License-Identifier: Apache-2.0
-- For test_idle.py: echoes by a port and two apps, of which one is on another CPU.
-- Arguments: the port, the two CPUs.

local config = require("core.config")
local Fwd = require("apps.fwd.fwd").Fwd
local Port = require("apps.port.port").Port

local port, first, second = ...
local c = config.new()
config.app(c, "port", Port, port)
config.app(c, "near", Fwd)
config.app(c, "far", Fwd)
config.link(c, "port.output -> far.input")
config.link(c, "far.output -> near.input")
config.link(c, "near.output -> port.input")
c.cpus = {port = tonumber(first), near = tonumber(first), far = tonumber(second)}
engine.configure(c)
engine.main{}
