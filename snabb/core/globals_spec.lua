-- SPDX-License-Identifier: Apache-2.0
-- What programs of Snabb's form find beside modules.

local testing = require("testing.support")

local function says(text)
  local said, status = testing.script(text) -- with a tree (-p)
  assert.equal(0, status, said)
  return said
end

describe("a program from a tree of Snabb's form", function ()
  it("has Lua 5.2's coroutine.running", function ()
    assert.equal("thread true thread false\n", says[[
      local main_thread, is_main = coroutine.running()
      local _, other, is_other = coroutine.resume(coroutine.create(function ()
        return coroutine.running()
      end))
      assert(other ~= main_thread)
      print(type(main_thread), is_main, type(other), is_other)]]:gsub("\t", " "))
  end)

  it("prints the version by main.version()", function ()
    assert.matches("^perigee %d+%.%d+\n$", says"main.version()")
  end)
end)
