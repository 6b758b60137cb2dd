-- SPDX-License-Identifier: Apache-2.0

local C = require("core.native")
local config = require("core.config")
local engine = require("core.app")
local health = require("core.watch.health")
local badly_compiled = require("core.fuse.badly_compiled")
local regions = require("testing.regions")
local Port = require("apps.port.port").Port

describe("recursion", function ()
  after_each(function () engine.configure(config.new()) end)

  local function setup()
    local c = config.new()
    config.app(c, "port", Port, "null")
    config.app(c, "recursive", regions.Pass)
    config.link(c, "port.output -> recursive.input")
    config.link(c, "recursive.output -> port.input")
    engine.configure(c)
    engine.busywait = true
    return engine.regions[1]
  end

  local function run(seconds, done)
    local ends = C.pg_monotonic() + seconds
    engine.main{no_report = true, done = function ()
      return done() or C.pg_monotonic() > ends
    end}
  end

  it("is what LuaJIT says of a segment", function ()
    local follow, followers = health.follow, {}
    function health.follow(f, follower) followers[f] = follower end
    local region = {segment = {function () return 1 end, function () return 2 end}}
    badly_compiled.follow(region)
    health.follow = follow
    assert.is_false(badly_compiled.is_recursion(region))
    followers[region.segment[1]]:stopped("root")
    followers[region.segment[2]]:stopped("loop")
    assert.is_false(badly_compiled.is_recursion(region))
    followers[region.segment[2]]:stopped("up-recursion")
    followers[region.segment[2]]:stopped("root")
    assert.is_true(badly_compiled.is_recursion(region))
  end)

  it("has a region made anew, twice at most #slow", function ()
    for try = 1, 3 do
      local region = setup()
      assert.is_false(badly_compiled.is_recursion(region))
      region.recursion:stopped("up-recursion")
      local anew = function () return engine.regions[1] ~= region end
      run(try < 3 and 20 or 0.5, anew)
      assert.equal(try < 3, anew())
    end
  end)
end)
