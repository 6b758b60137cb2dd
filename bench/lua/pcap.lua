-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/pcap.lua read FILE SECONDS: packets of FILE, over and over,
-- are received and dropped. ... write FILE SECONDS: packets of 60 bytes are written to
-- FILE. ... copy FROM TO: all packets of one file go into the other. Prints what
-- bench/native/pcap.c prints: packets, CPU seconds, TSC Hz.

local C = require("core.native")
local Port = require("apps.port.port").Port
local basic = require("apps.basic.basic_apps")

local WARM_UP_SECONDS = 0.3

local graphs = {}

function graphs.read(c, file)
  config.app(c, "port", Port, ("pcap:rx=%s,loop=1"):format(file))
  config.app(c, "sink", basic.Sink)
  config.link(c, "port.output -> sink.input")
  return function (app) return tonumber(app.port.rxpackets) end
end

function graphs.write(c, file)
  config.app(c, "source", Port, "null")
  config.app(c, "port", Port, "pcap:tx=" .. file)
  config.link(c, "source.output -> port.input")
  return function (app) return tonumber(app.port.txpackets) end
end

function graphs.copy(c, from, to)
  config.app(c, "port", Port, ("pcap:rx=%s,tx=%s"):format(from, to))
  config.link(c, "port.output -> port.input")
  return function (app) return tonumber(app.port.txpackets) end
end

local function main(what, file, other)
  local c = config.new()
  local count = graphs[what](c, file, other)
  local duration, done = tonumber(other), nil
  engine.busywait = true
  engine.configure(c)
  local port = engine.app_table.port
  if duration then
    engine.main{duration = WARM_UP_SECONDS, no_report = true}
  else
    done = function () return engine.finished() end
  end
  local packets, cpu = count(port), C.pg_cpu_seconds()
  engine.main{duration = duration, done = done, no_report = true}
  packets = count(port) - packets
  engine.configure(config.new()) -- what is still to be written counts as well
  print(("%d %.6f %d"):format(packets, C.pg_cpu_seconds() - cpu,
    tonumber(C.pg_tsc_hz())))
end

main(...)
