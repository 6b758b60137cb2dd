-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local random = require("core.lib.random")
local stderr = require("testing.stderr")

describe("random bytes", function()
  it("are an array of C of the length asked for", function()
    assert.equal(6, ffi.sizeof(random.random_bytes(6)))
    assert.equal("", random.random_data(0))
    assert.equal(100, #random.random_data(100))
    assert.are_not.equal(random.random_data(16), random.random_data(16))
  end)

  it("take all values", function()
    for _, source in ipairs {"random_bytes_from_dev_urandom",
                             "random_bytes_from_math_random"} do
      local seen, distinct = {}, 0
      local bytes = random[source](10000)
      for i = 0, 9999 do
        if not seen[bytes[i]] then seen[bytes[i]], distinct = true, distinct + 1 end
      end
      assert.equal(256, distinct)
    end
  end)
end)

describe("randomseed", function()
  before_each(stderr.keep)
  after_each(function()
    stderr.leave()
    random.randomseed()
  end)

  it("makes the sequence repeat, and says so", function()
    local cached = random.random_bytes
    assert.equal(7, random.randomseed("7"))
    local first = ffi.string(cached(32), 32) .. math.random()
    random.randomseed(7)
    assert.equal(first, ffi.string(cached(32), 32) .. math.random())
    assert.matches("seed 7", stderr.told())
  end)

  it("goes back to the kernel's bytes", function()
    random.randomseed(7)
    local first = random.random_data(32)
    math.randomseed(7)
    stderr.keep()
    local seed = random.randomseed(nil)
    assert.is_true(seed >= 0 and seed < 2^32)
    assert.are_not.equal(first, random.random_data(32))
    assert.equal("", stderr.told())
  end)
end)

describe("random_printable_string", function()
  it("has enough characters of its alphabet", function()
    for entropy, length in pairs {[160] = 27, [6] = 1, [7] = 2, [600] = 100} do
      local s = random.random_printable_string(entropy)
      assert.equal(length, #s)
      assert.matches("^[%w_-]+$", s)
    end
    assert.equal(27, #random.random_printable_string())
  end)
end)
