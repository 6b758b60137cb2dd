-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/peers.lua SERVER CLIENT SECONDS: 192 packets go round between
-- two ports that share memory, such as vhost:PATH and virtio-user:PATH. Prints what
-- bench/native/peers.c prints: packets, CPU seconds, TSC Hz.

local C = require("core.native")
local Port = require("apps.port.port").Port

local WARM_UP_SECONDS, ROUND, SIZE = 0.3, 192, 60
local TURNS = 64 -- between looks at the clock

-- Gives packets to start with, once.
local Seed = {}
Seed.__index = Seed
function Seed:new() return setmetatable({left = ROUND}, self) end
function Seed:pull()
  while self.left > 0 do
    local p = packet.allocate()
    p.length = SIZE
    link.transmit(self.output.output, p)
    self.left = self.left - 1
  end
end

local function round_graph(server, client)
  local c = config.new()
  config.app(c, "host", Port, server)
  engine.configure(c) -- it makes the socket
  config.app(c, "guest", Port, client)
  config.app(c, "seed", Seed)
  config.link(c, "host.output -> host.input")
  config.link(c, "guest.output -> guest.input")
  config.link(c, "seed.output -> guest.input2")
  return c
end

-- Run for so many seconds of CPU time, as the reference does: on a machine that others
-- use, little of so much wall time is left to compile in.
local function go(seconds)
  local ends, turns = C.pg_cpu_seconds() + seconds, 0
  engine.main{no_report = true, done = function ()
    turns = turns + 1
    return turns % TURNS == 0 and C.pg_cpu_seconds() >= ends
  end}
end

local function main(server, client, seconds)
  engine.configure(round_graph(server, client))
  engine.busywait = true
  local host = engine.app_table.host
  go(WARM_UP_SECONDS)
  local packets, cpu = tonumber(host.port.txpackets), C.pg_cpu_seconds()
  go(tonumber(seconds))
  print(("%d %.6f %d"):format(tonumber(host.port.txpackets) - packets,
    C.pg_cpu_seconds() - cpu, tonumber(C.pg_tsc_hz())))
end

main(...)
