-- SPDX-License-Identifier: Apache-2.0
-- test/delay_line.lua PORT DEPTH: sends back what comes from PORT, DEPTH packets later.
-- Until it holds so many, it sends a copy of each at once. So for each packet that
-- comes one goes, and the pool of packets has to grow for DEPTH of them.

local config = require("core.config")
local link = require("core.link")
local packet = require("core.packet")
local Port = require("apps.port.port").Port

local port, depth = ...
depth = tonumber(depth)

local Line = {}
Line.__index = Line

function Line:new() return setmetatable({held = {}, received = 0}, self) end

function Line:push()
  local input, output = self.input.input, self.output.output
  while not link.empty(input) and not link.full(output) do
    local slot = self.received % depth
    local p, before = link.receive(input), self.held[slot]
    self.held[slot], self.received = p, self.received + 1
    link.transmit(output, before or packet.clone(p))
  end
end

function Line:stop()
  for _, p in pairs(self.held) do packet.free(p) end
end

local c = config.new()
config.app(c, "port", Port, port)
config.app(c, "line", Line)
config.link(c, "port.output -> line.input")
config.link(c, "line.output -> port.input")
engine.configure(c)
engine.main{}
