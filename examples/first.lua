-- SPDX-License-Identifier: Apache-2.0
-- perigee run examples/first.lua PORT: how many packets of which size come in?
local Sizes = {}
Sizes.__index = Sizes

function Sizes:new() return setmetatable({seen = {}}, self) end

function Sizes:push()
  for _ = 1, link.nreadable(self.input.input) do
    local p = link.receive(self.input.input)
    self.seen[p.length] = (self.seen[p.length] or 0) + 1
    packet.free(p)
  end
end

function Sizes:report()
  for size, n in pairs(self.seen) do print(n .. " packets of " .. size .. " bytes") end
end

local c = config.new()
config.app(c, "port", require("apps.port.port").Port, (...))
config.app(c, "sizes", Sizes)
config.link(c, "port.output -> sizes.input")
engine.configure(c)
engine.main{done = function () return engine.app_table.port:ended() end}
