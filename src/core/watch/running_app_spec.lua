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
    if app.left < 0 then error(%s) end
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

-- The app "b" of a region of three, or of apps by themselves, raises an error.
local REGION = [[
  local basic = require("apps.basic.basic_apps")
  local X = {}
  X.__index = X
  function X:new(most) return setmetatable({left = most}, X) end
  function X:process(p)
    self.left = self.left - 1
    if self.left < 0 then error("enough") end
    return p
  end
  engine.fuse = %s
  local c = config.new()
  config.app(c, "source", basic.Source)
  for name, most in pairs{a = 1e12, b = %d, c = 1e12} do
    config.app(c, name, X, most)
  end
  config.app(c, "sink", basic.Sink)
  for _, pair in ipairs{"source a", "a b", "b c", "c sink"} do
    config.link(c, (pair:gsub("(%%w+) (%%w+)", "%%1.output -> %%2.input")))
  end
  engine.configure(c)
  print(pcall(engine.main, {duration = 20, no_report = true}))
  print("in", engine.failing)
]]

describe("core.watch.running_app #slow", function ()
  it("names the app whose process() failed", function ()
    for _, fused in ipairs{true, false} do
      for _, most in ipairs{0, 1000, 1e6} do
        local said, status = testing.script(REGION:format(fused, most))
        assert.equal(0, status, said)
        assert.matches("app 'b': in process(): ", said, 1, true)
        assert.matches("in\tb\n$", said)
      end
    end
  end)

  for kind, most in pairs{pulling = 5000, pushing = 5000, ticking = 60} do
    it("names the app whose " .. kind .. " failed", function ()
      for _, case in ipairs{{"1e12, 0, 1e12", 2, '"enough"', "[^\n]*enough"},
          {most .. ", 1e12, 1e12", 1, "nil", "an error that is no text: nil"}} do
        local counts, number, raised, told = unpack(case)
        local said, status = testing.script(GRAPH:format(raised, counts, kind))
        assert.equal(0, status, said)
        local method = kind:gsub("ing$", ""):gsub("tick.*", "tick")
        assert.matches(("app '%s%d': in %s%%(%%): %s"):format(kind, number, method,
          told), said)
        assert.matches(("in\t%s%d\n$"):format(kind, number), said)
      end
    end)

    it("gives on the table that " .. kind .. " raised", function ()
      local program = GRAPH:format("{code = 42}", "1e12, 1e12, " .. most, kind)
        :gsub("print%(pcall(%b())%)", "local ok, err = pcall%1 print(ok, err.code)")
      local said, status = testing.script(program)
      assert.equal(0, status, said)
      assert.equal(("false\t42\nin\t%s3\n"):format(kind), said)
    end)
  end
end)
