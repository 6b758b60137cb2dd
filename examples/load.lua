-- SPDX-License-Identifier: Apache-2.0
-- perigee run examples/load.lua CYCLES [BYTES [SECONDS]]: what throughput is left when
-- each packet takes CYCLES of the CPU, and an access to a table of BYTES? The report
-- says where the cycles went.

local Cycles = require("apps.load.cycles").Cycles
local Memory = require("apps.load.memory").Memory
local Port = require("apps.port.port").Port

local cycles, bytes, seconds = ...

local c = config.new()
config.app(c, "port", Port, "null")
config.app(c, "work", Cycles, tonumber(cycles))
config.app(c, "table", Memory, {bytes = tonumber(bytes or 1024)})
config.link(c, "port.output -> work.input")
config.link(c, "work.output -> table.input")
config.link(c, "table.output -> port.input")
engine.configure(c)
engine.busywait = true
engine.main{duration = tonumber(seconds or 1),
            report = {showload = true, showapps = true}}
