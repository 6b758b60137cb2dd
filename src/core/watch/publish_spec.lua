-- SPDX-License-Identifier: Apache-2.0
-- In a process of its own: the JIT's state can't be had afresh in one.

local testing = require("testing.support")

-- A null port through the app "x", which does `body` with each packet `p`; then what
-- is in shared memory under engine/jit, and again when "x" is gone. It runs for half a
-- second, and longer until there is the object `wanted`, if one is given.
local function published(body, wanted)
  return testing.script(([[
    local objects = require("lib.observe.objects")
    local shm = require("core.shm")
    local X = {count = 0}
    function X:new() return setmetatable({}, {__index = X}) end
    function X:process(p)
      %s
      return p
    end
    require("testing.regions").on_null("x", X)
    engine.busywait = true
    local function show()
      for name, object in pairs(objects.all(shm.path("engine/jit"))) do
        print(name .. (object.value > 0 and " some" or " none"))
      end
    end
    local wanted = %q
    for _ = 1, 40 do
      engine.main{duration = 0.5, no_report = true}
      if wanted == "" or shm.exists("engine/jit/" .. wanted) then break end
    end
    show()
    engine.configure(config.new())
    engine.main{duration = 0.02, no_report = true}
    print("then")
    show()]]):format(body, wanted or ""))
end

describe("jit_publish", function ()
  it("counts traces, and no problem where there is none #slow", function ()
    local said, status = published("self.count = self.count + 1")
    assert.equal(0, status)
    assert.matches("traces some\n", said, 1, true)
    assert.matches("problems none\n", said, 1, true)
    assert.matches("blacklisted none\n", said, 1, true)
    assert.is_nil(said:find("apps/", 1, true))
  end)

  it("names apps and regions that are slowed down #slow", function ()
    local said, status = published(
      "self.s = string.gsub('abc', 'b', function (x) return x end)", "apps/x.counter")
    assert.equal(0, status)
    local before, after = said:match("^(.*)then\n(.*)$")
    for _, line in ipairs{"problems some", "blacklisted some", "apps/x some",
                          "regions/x some"} do
      assert.matches(line, before, 1, true)
    end
    assert.is_nil(after:find("apps/x", 1, true))
  end)
end)
