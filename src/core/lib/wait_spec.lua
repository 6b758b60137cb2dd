-- SPDX-License-Identifier: Apache-2.0

local clock = require("core.lib.clock")
local wait = require("core.lib.wait")

describe("with the engine's clock", function()
  local time, engine_before

  before_each(function()
    time = 100
    engine_before = package.loaded["core.app"]
    package.loaded["core.app"] = {now = function() return time end}
  end)
  after_each(function() package.loaded["core.app"] = engine_before end)

  it("throttle is true at most once in an interval", function()
    local due = wait.throttle(10)
    assert.is_false(due())
    time = 101
    assert.is_true(due())
    assert.is_false(due())
    time = 111
    assert.is_false(due())
    time = 111.5
    assert.is_true(due())
  end)

  it("timeout is true from its time on", function()
    local expired = wait.timeout(5)
    time = 105
    assert.is_false(expired())
    time = 105.1
    assert.is_true(expired())
    assert.is_true(expired())
  end)
end)

describe("without an engine", function()
  it("time goes on by itself", function()
    local expired = wait.timeout(0.001)
    assert.is_false(wait.timeout(1e6)())
    wait.waitfor(expired)
    assert.is_true(expired())
  end)

  it("the clock never goes back, and both units agree", function()
    local last = clock.seconds()
    for _ = 1, 1000 do
      local now = clock.seconds()
      assert.is_true(now >= last)
      last = now
    end
    local before, ns, after =
      clock.seconds(), clock.nanoseconds(), clock.seconds()
    assert.is_true(before <= ns / 1e9 + 1e-6 and ns / 1e9 <= after + 1e-6)
  end)
end)

describe("waitfor2", function()
  it("returns once the condition holds", function()
    local calls = 0
    wait.waitfor2("three", function() calls = calls + 1 return calls == 3 end, 5, 1)
    assert.equal(3, calls)
  end)

  it("gives up after the attempts", function()
    local calls = 0
    local ok, err = pcall(wait.waitfor2, "the link",
      function() calls = calls + 1 end, 4, 1)
    assert.is_false(ok)
    assert.equal(4, calls)
    assert.equal("gave up waiting for the link after 4 attempts", tostring(err))
  end)
end)
