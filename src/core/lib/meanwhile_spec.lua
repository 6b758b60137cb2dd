-- SPDX-License-Identifier: Apache-2.0
local meanwhile = require("core.lib.meanwhile")

describe("What goes on meanwhile", function ()
  it("is called in steps of a long computation", function ()
    local calls = 0
    local function work(n)
      for _ = 1, n do meanwhile.step() end
      meanwhile.pause()
      return "done", n
    end
    local function go_on() calls = calls + 1 end
    assert.same({"done", 100}, {meanwhile.call(go_on, work, 100)})
    assert.is_true(calls >= 1 and calls <= 8, tostring(calls))
    local before = calls
    work(100) -- nothing is to go on
    assert.equal(before, calls)
  end)

  it("isn't called within itself, and ends with an error", function ()
    local depth, deepest = 0, 0
    local function go_on()
      depth = depth + 1
      deepest = math.max(deepest, depth)
      meanwhile.pause()
      meanwhile.call(go_on, meanwhile.pause)
      depth = depth - 1
    end
    meanwhile.call(go_on, meanwhile.pause)
    assert.equal(1, deepest)
    assert.has_error(function () meanwhile.call(error, meanwhile.pause) end)
    assert.has_error(function ()
      meanwhile.call(go_on, function () error("wrong", 0) end)
    end, "wrong")
    deepest = 0
    meanwhile.pause()
    assert.equal(0, deepest)
  end)
end)
