-- SPDX-License-Identifier: Apache-2.0
-- Fwd: passes every packet from input to output. The unit of which chains are
-- made to measure what a hop costs. Without an output it frees them.

local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")

local Fwd = {}
Fwd.__index = Fwd

Fwd.link_names = {input = {input = true}, output = {output = true}}

function Fwd:new()
  return setmetatable({transmitted = 0}, self)
end

local function discard(input, n)
  for _ = 1, n do packet.free(link.receive(input)) end
end

function Fwd:push()
  local input, output = self.input.input, self.output.output
  local n = link.nreadable(input)
  if not output then return discard(input, n) end
  for _ = 1, n do link.transmit(output, link.receive(input)) end
  self.transmitted = self.transmitted + n
end

function Fwd:report()
  print(("  transmitted %s packets"):format(lib.comma_value(self.transmitted)))
end

return {Fwd = Fwd}
