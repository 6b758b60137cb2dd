-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/record.lua SIZE SECONDS: packets of that size come from a null
-- port, and stay in a ring of 256 MiB until others overwrite them. Prints what
-- bench/native/record.c prints: packets, CPU seconds, TSC Hz.

local C = require("core.native")
local Port = require("apps.port.port").Port
local Recorder = require("apps.record.recorder").Recorder

local RING_BYTES = 2^28
local WARM_UP_SECONDS = 0.5 -- the ring has been full once

local size, seconds = ...
local c = config.new()
config.app(c, "port", Port, "null:size=" .. size)
config.app(c, "recorder", Recorder, {inputs = {"a"}, memory = RING_BYTES})
config.link(c, "port.output -> recorder.a")
engine.busywait = true
engine.configure(c)
engine.main{duration = WARM_UP_SECONDS, no_report = true}
local port = engine.app_table.port
local packets, cpu = tonumber(port.port.rxpackets), C.pg_cpu_seconds()
engine.main{duration = tonumber(seconds), no_report = true}
print(("%d %.6f %d"):format(tonumber(port.port.rxpackets) - packets,
  C.pg_cpu_seconds() - cpu, tonumber(C.pg_tsc_hz())))
