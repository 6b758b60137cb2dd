-- SPDX-License-Identifier: Apache-2.0
local Rand = require("lib.lpm.random")

describe("lib.lpm.random", function ()
  it("follows Marsaglia's xorshift", function ()
    assert.equal(0, Rand.u32(0))
    assert.equal(270369, Rand.u32(1))
    assert.equal(67634689, Rand.u32(270369))
    assert.equal(723471715, Rand.u32(2463534242)) -- the paper's seed
  end)
end)
