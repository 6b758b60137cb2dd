-- SPDX-License-Identifier: Apache-2.0
local bitmask = require("moongen.measure.bitmask")

local function bits(mask)
  local text = ""
  for i = 1, mask.size do text = text .. (mask[i] and "1" or "0") end
  return text
end

describe("bitmask", function ()
  it("sets and clears bits, from 1 on", function ()
    local mask = bitmask.createBitMask(5)
    mask[1], mask[5], mask[2] = 1, true, 1
    mask[2] = 0
    assert.equal("10001", bits(mask))
    assert.equal("11101", bits(mask:setN(3)))
    assert.equal("11111", bits(mask:setAll()))
    assert.equal("00000", bits(mask:clearAll()))
    assert.is_false(mask[6])
    assert.error_matches(function () mask[6] = 1 end, "are 1 to 5; there is no 6")
  end)

  it("combines masks", function ()
    local a, b = bitmask.createBitMask(4), bitmask.createBitMask(4)
    a:setN(2)
    b[2], b[3] = 1, 1
    local result = bitmask.createBitMask(4)
    for name, wanted in pairs{band = "0100", bor = "1110", bxor = "1010"} do
      bitmask[name](a, b, result)
      assert.equal(wanted, bits(result))
    end
    bitmask.bnot(a, a)
    assert.equal("0011", bits(a))
  end)
end)
