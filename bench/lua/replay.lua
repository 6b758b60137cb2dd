-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/replay.lua KIND FILE SECONDS: the packets of FILE over and over
-- to a null port, from memory. KIND: shared (as `replay` and `packetblaster` send), or
-- copied (to a port that doesn't take shared ones). Prints what bench/native/replay.c
-- prints: packets, CPU seconds, TSC Hz.

local C = require("core.native")
local Looper = require("apps.pcap.looper").Looper
local Port = require("apps.port.port").Port

local WARM_UP_SECONDS = 0.3

local Copying = setmetatable({}, {__index = Port})
Copying.__index = Copying

function Copying:new(arg, checked)
  local app = Port.new(self, arg, checked)
  app.takes_shared = false
  return app
end

local classes = {shared = Port, copied = Copying}

local function main(kind, file, seconds)
  local c = config.new()
  config.app(c, "source", Looper, {filename = file})
  config.app(c, "port", classes[kind], "null")
  config.link(c, "source.output -> port.input")
  engine.busywait = true
  engine.configure(c)
  local port = engine.app_table.port.port
  engine.main{duration = WARM_UP_SECONDS, no_report = true}
  local packets, cpu = port.txpackets, C.pg_cpu_seconds()
  engine.main{duration = tonumber(seconds), no_report = true}
  print(("%d %.6f %d"):format(tonumber(port.txpackets - packets),
    C.pg_cpu_seconds() - cpu, tonumber(C.pg_tsc_hz())))
end

main(...)
