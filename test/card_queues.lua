-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/card_queues.lua PORT QUEUES: sends back what it receives, with the
-- number of the queue (from 0) that a packet came by as its last byte.

local Port = require("apps.port.port").Port

local Stamp = {config = {queue = {required = true}}}
Stamp.__index = Stamp

function Stamp:new(arg) return setmetatable({queue = arg.queue}, self) end

function Stamp:process(p)
  p.data[p.length - 1] = self.queue
  return p
end

local port, queues = ...
queues = tonumber(queues)
local c = config.new()
for q = 0, queues - 1 do
  config.app(c, "port" .. q, Port, {port = port, queues = queues, queue = q})
  config.app(c, "stamp" .. q, Stamp, {queue = q})
  config.link(c, ("port%d.output -> stamp%d.input"):format(q, q))
  config.link(c, ("stamp%d.output -> port%d.input"):format(q, q))
end
engine.configure(c)
engine.main()
