-- SPDX-License-Identifier: Apache-2.0
-- Npackets: passes on so many packets; those that follow stay in its input.

local link = require("core.link")

local Npackets = {config = {npackets = {default = 1000000}}}
Npackets.__index = Npackets
Npackets.reconfig_keeps = {}

function Npackets:new(conf)
  return setmetatable({n = conf.npackets}, self)
end

local function pass(input, output, n)
  for _ = 1, n do link.transmit(output, link.receive(input)) end
end

function Npackets:push()
  local n = math.min(link.nreadable(self.input.input), self.n)
  pass(self.input.input, self.output.output, n)
  self.n = self.n - n
end

return {Npackets = Npackets}
