-- SPDX-License-Identifier: Apache-2.0
local chance = require("click.chance")

local function numbers(most)
  local list = {}
  for i = 1, 200 do list[i] = chance.number(most) end
  return list
end

describe("Numbers by chance", function ()
  it("are from 0 to the greatest that is asked for", function ()
    local seen = {}
    for _, number in ipairs(numbers(3)) do seen[number] = true end
    assert.same({[0] = true, true, true, true}, seen)
    assert.equal(0, chance.number(0))
    assert.is_true(chance.number(2 ^ 31 - 2) >= 0)
  end)

  it("are those of the C library that Click takes", function ()
    chance.seed(1)
    local list = {chance.word(), chance.among(2), chance.among(3), chance.among(4)}
    assert.same({1804289383, 0, 2, 3}, list)
    chance.seed(1)
    assert.is_false(chance.happens(0))
    assert.is_true(chance.happens(1))
  end)

  it("are the same after the same seed, as Lua's are", function ()
    chance.seed(1)
    local first, own = numbers(2 ^ 31 - 2), math.random()
    assert.equal(1804289383, first[1]) -- as the C library has it
    chance.seed(1)
    assert.same(first, numbers(2 ^ 31 - 2))
    assert.equal(own, math.random())
    chance.seed(2)
    assert.not_same(first, numbers(2 ^ 31 - 2))
  end)
end)
