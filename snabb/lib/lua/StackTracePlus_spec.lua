-- SPDX-License-Identifier: Apache-2.0

local stack = require("lib.lua.StackTracePlus")

local function inner(argument)
  local answer = 42
  local text = stack.stacktrace(argument)
  return text, answer
end

local function outer()
  local long = ("x"):rep(200)
  local text = inner("something is wrong")
  return text, long
end

describe("lib.lua.StackTracePlus", function ()
  it("tells who called whom, with what", function ()
    local lines = {}
    for line in outer():gmatch("[^\n]+") do lines[#lines + 1] = line end
    assert.equal("something is wrong", lines[1])
    assert.matches("StackTracePlus_spec.lua:7: in function 'inner'", lines[3], 1, true)
    assert.equal('\t\targument = "something is wrong"', lines[4])
    assert.equal("\t\tanswer = 42", lines[5])
    assert.matches("in function 'outer'", lines[6], 1, true)
    assert.matches('^\t\tlong = "x+%.%.%.$', lines[7])
  end)

  it("gives back what is no message", function ()
    local object = {}
    assert.equal(object, stack.stacktrace(object))
  end)
end)
