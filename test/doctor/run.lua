-- SPDX-License-Identifier: Apache-2.0
-- Runs a graph without end, for doctor to look at.

--- `apps`: {class, argument} by name; `links`: texts. They are added to the
--- configuration `c`, if there is one.
local function run(apps, links, c)
  c = c or config.new()
  for name, app in pairs(apps) do config.app(c, name, unpack(app)) end
  for _, spec in ipairs(links) do config.link(c, spec) end
  engine.configure(c)
  engine.busywait = true
  engine.main{}
end

return run
