-- SPDX-License-Identifier: Apache-2.0
-- Sprayer: passes every other packet, from the second on, and drops the others.

local Sprayer = {drops = {"sprayed"}}
Sprayer.__index = Sprayer
Sprayer.link_names = {input = {input = true}, output = {output = true}}

function Sprayer:new()
  return setmetatable({count = 0}, Sprayer)
end

--- Called for each packet: returns it to pass it, or nil and a number in `drops`.
function Sprayer:process(p)
  self.count = self.count + 1
  if self.count % 2 == 0 then return p end
  return nil, 1
end

return {Sprayer = Sprayer}
