-- SPDX-License-Identifier: Apache-2.0
-- For test_fast_free.py: packets of the capture file `path` are looped to a port that
-- is open before they are read.

local config = require("core.config")
local engine = require("core.app")
local Looper = require("apps.pcap.looper").Looper
local Port = require("apps.port.port").Port

local LOOPS = 1000

local path = ...
local c = config.new()
config.app(c, "port", Port, "null")
engine.configure(c)
config.app(c, "looper", Looper, {filename = path, loops = LOOPS})
config.link(c, "looper.output -> port.input")
engine.configure(c)
local looper = engine.app_table.looper
engine.main{done = function () return looper.done end}
print("sent: " .. tostring(looper.packets))
