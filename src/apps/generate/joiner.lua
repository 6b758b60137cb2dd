-- SPDX-License-Identifier: Apache-2.0
-- Joiner: the packets of several Generators on one link, in turns. It takes only what
-- its output has room for, so that the Generators keep to that, and none is dropped.

local link = require("core.link")

local receive, transmit, min = link.receive, link.transmit, math.min

local Joiner = {}
Joiner.__index = Joiner
Joiner.reconfig_keeps = {}

--- It takes no argument.
function Joiner:new() return setmetatable({inputs = {}, first = 1}, Joiner) end

function Joiner:link()
  self.inputs, self.sink, self.first = {}, self.output.output, 1
  for i = 1, #self.input do self.inputs[i] = self.input[i] end
end
Joiner.unlink = Joiner.link

--- What waits in its inputs the engine sees.
function Joiner:due_at() return math.huge end

local function move(input, output, n)
  for _ = 1, n do transmit(output, receive(input)) end
end

--- Another input is the first each time: where there isn't room for all, each has its
--- share.
function Joiner:push()
  local inputs, output = self.inputs, self.sink
  if not output then return end
  for i = self.first, self.first + #inputs - 1 do
    local input = inputs[(i - 1) % #inputs + 1]
    move(input, output, min(link.nreadable(input), link.nwritable(output)))
  end
  self.first = self.first % #inputs + 1
end

return {Joiner = Joiner}
