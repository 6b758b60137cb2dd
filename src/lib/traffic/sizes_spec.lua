-- SPDX-License-Identifier: Apache-2.0
-- Size mixes: what a round holds, and in which order.

local sizes = require("lib.traffic.sizes")

describe("lib.traffic.sizes", function()
  local function round(text)
    return assert(sizes.parse(text)).round
  end

  it("takes one size, a range and a list", function()
    assert.are.same({60}, round("60"))
    assert.are.same({64, 65, 66, 67}, round("64..67"))
    assert.are.same({14}, round("14..14"))
    assert.are.same({64, 114, 164}, round("64..200/50"))
    assert.are.same({60, 128, 1514}, round("60, 128,1514"))
    assert.are.equal(10240 - 14 + 1, #round("14..10240"))
  end)

  it("keeps the weights in every round, and spreads them", function()
    assert.are.same({60, 60, 590, 60}, round("60:3,590"))
    local seen = {}
    for _, size in ipairs(round("100:5, 200:3,300:2")) do
      seen[size] = (seen[size] or 0) + 1
    end
    assert.are.same({[100] = 5, [200] = 3, [300] = 2}, seen)
    local once, last = round("60:50,61:50"), 61
    for _, size in ipairs(once) do
      assert.are_not.equal(last, size)
      last = size
    end
  end)

  it("knows the simple IMIX", function()
    local mix = sizes.parse("imix")
    local seen = {}
    for _, size in ipairs(mix.round) do seen[size] = (seen[size] or 0) + 1 end
    assert.are.same({[60] = 7, [590] = 4, [1514] = 1}, seen)
    assert.are.equal(60, mix.smallest)
    assert.are.equal(1514, mix.largest)
    assert.are.equal((7 * 60 + 4 * 590 + 1514) / 12, mix.mean)
  end)

  it("reads the genome of a mix", function ()
    assert.are.same({60, 124, 252, 508, 1020, 1276, 1514, 2108, 9212},
      round("imix:abcdefghi"))
    assert.are.same({60, 60, 1514}, round("imix:aag"))
  end)

  it("refuses what is no mix, and says what is", function()
    for text, problem in pairs{
      [""] = "not ''", ["13"] = "14 to 10240 bytes, not '13'", ["10241"] = "'10241'",
      ["60:0"] = "above 0", ["60:65537"] = "up to 65536", ["60,,70"] = "not ''",
      ["99..64"] = "the smaller one", ["60..x"] = "not 'x'", ["IMIX"] = "'IMIX'",
      ["-60"] = "'-60'", ["60.5"] = "'60.5'", ["imix:aj"] = "not 'j'",
      ["imix:"] = "a letter for each packet", ["60..70/0"] = "a step is",
      ["60..70/x"] = "a step is", ["60:7:4"] = "'60:7'",
    } do
      local mix, said = sizes.parse(text)
      assert.is_nil(mix, text)
      assert.matches(problem, said, 1, true)
      assert.matches(("'%s' isn't a size such as"):format(text), said, 1, true)
    end
  end)
end)
