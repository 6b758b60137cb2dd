-- SPDX-License-Identifier: Apache-2.0
-- Fwd: passes every packet from input to output. The unit of which chains are
-- made; in its per-packet form a chain costs what one costs. Without an output
-- it frees them.

local lib = require("core.lib")
local link = require("core.link")

local Fwd = {}
Fwd.__index = Fwd
Fwd.reconfig_keeps = {}
Fwd.division = "any"

Fwd.link_names = {input = {input = true}, output = {output = true}}

function Fwd:new()
  return setmetatable({}, self)
end

function Fwd:process(p)
  return p
end

--- Packets it has sent to its output.
function Fwd:transmitted()
  local output = self.output.output
  return output and link.stats(output).txpackets or 0
end

function Fwd:report()
  print(("  transmitted %s packets"):format(lib.comma_value(self:transmitted())))
end

return {Fwd = Fwd}
