-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/pair.lua SERVER CLIENT SECONDS: 192 packets go round between
-- two ports that share memory, such as vhost:PATH and virtio-user:PATH. Prints what
-- bench/native/pair.c prints: packets, CPU seconds, TSC Hz.

local cpu_time = require("cpu_time")
local Port = require("apps.port.port").Port

local ROUND, SIZE = 192, 60

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

local function main(server, client, seconds)
  engine.configure(round_graph(server, client))
  engine.busywait = true
  local host = engine.app_table.host
  cpu_time.report(function () return tonumber(host.port.txpackets) end, seconds)
end

main(...)
