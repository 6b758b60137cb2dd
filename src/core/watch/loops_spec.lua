-- SPDX-License-Identifier: Apache-2.0
-- The app in which an error was raised, also by compiled code. Each case runs in a
-- process of its own: what is wrong here ends it.

local testing = require("testing.support")

local GRAPH = [[
  local Class = {}
  Class.__index = Class
  function Class:new(arg) return setmetatable({left = arg}, self) end
  local function pass(app)
    app.left = app.left - 1
    if app.left < 0 then error("enough") end
  end
  local Pulling = setmetatable({pull = pass}, {__index = Class})
  local Pushing = setmetatable({}, {__index = Class})
  local Ticking = setmetatable({tick = pass}, {__index = Class})
  for _, class in ipairs{Pulling, Pushing, Ticking} do class.__index = class end
  function Pushing:push()
    local input = self.input.input
    for _ = 1, link.nreadable(input) do packet.free(link.receive(input)) end
    pass(self)
  end
  local c = config.new()
  config.app(c, "source", require("apps.basic.basic_apps").Source)
  for i, left in ipairs{%s} do
    config.app(c, "pulling" .. i, Pulling, 1e12)
    config.app(c, "pushing" .. i, Pushing, 1e12)
    config.app(c, "ticking" .. i, Ticking, 1e12)
    config.link(c, ("source.output%%d -> pushing%%d.input"):format(i, i))
    c.apps["%s" .. i].arg = left
  end
  engine.configure(c)
  print(pcall(engine.main, {duration = 20, no_report = true}))
  print("in", engine.failing)
]]

describe("core.watch.loops", function ()
  for kind, most in pairs{pulling = 5000, pushing = 5000, ticking = 60} do
    it("names the app whose " .. kind .. " failed", function ()
      for _, counts in ipairs{{"1e12, 0, 1e12", 2}, {most .. ", 1e12, 1e12", 1},
                              {"1e12, 1e12, " .. most, 3}} do
        local said, status = testing.script(GRAPH:format(counts[1], kind))
        assert.equal(0, status, said)
        local method = kind:gsub("ing$", ""):gsub("tick.*", "tick")
        assert.matches(("app '%s%d': in %s%%(%%): [^\n]*enough"):format(kind, counts[2],
          method), said)
        assert.matches(("in\t%s%d\n$"):format(kind, counts[2]), said)
      end
    end)
  end
end)
