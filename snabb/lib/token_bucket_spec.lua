-- SPDX-License-Identifier: Apache-2.0
local token_bucket = require("lib.token_bucket")

-- A bucket whose clock, of 1,000 ticks a second, the test sets.
local function bucket(rate, burst)
  local b = token_bucket.new{rate = rate, burst_size = burst}
  local now = {ticks = 0ULL}
  b._time_fn = function () return now.ticks end
  b._tps = 1000
  b:set(rate, burst)
  return b, now
end

describe("lib.token_bucket", function ()
  it("is full at first, and empty when all is taken", function ()
    local b = bucket(100, 5)
    assert.is_true(b:can_take(5))
    assert.is_false(b:can_take(6))
    for _ = 1, 5 do assert.is_true(b:take()) end
    assert.is_false(b:take())
  end)

  it("fills at its rate, up to the burst size", function ()
    local b, now = bucket(100, 5)
    b:take(5)
    now.ticks = 9ULL
    assert.is_false(b:take())
    now.ticks = 10ULL
    assert.is_true(b:take())
    assert.is_false(b:take())
    now.ticks = 39ULL
    assert.is_true(b:take(2))
    assert.is_false(b:take())
    now.ticks = 1000ULL
    assert.is_false(b:can_take(6))
    assert.equal(5, b:take_burst())
    assert.equal(0, b:take_burst())
  end)

  it("loses nothing of a rate that doesn't divide the clock's", function ()
    local b, now = bucket(7, 1)
    b:take()
    local taken = 0
    for tick = 1, 10100 do
      now.ticks = tick + 0ULL
      if b:take() then taken = taken + 1 end
    end
    assert.equal(70, taken)
  end)

  it("keeps to rates above its clock's", function ()
    local b, now = bucket(1250, 5000)
    b:take_burst()
    now.ticks = 1000ULL
    assert.equal(1250, b:take_burst())
    now.ticks = 1001ULL
    assert.equal(1, b:take_burst())
    now.ticks = 1002ULL
    assert.equal(1, b:take_burst())
    now.ticks = 1004ULL
    assert.equal(3, b:take_burst())
  end)

  it("keeps one token at the least", function ()
    local b = bucket(0.5)
    local rate, burst = b:get()
    assert.same({0.5, 1}, {rate, burst})
  end)

  it("refuses rates and sizes that aren't above 0", function ()
    assert.has_error(function () token_bucket.new{rate = 0} end,
      "a token bucket's rate can't be 0; give a number above 0")
    assert.has_error(function () bucket(1):set(nil, -2) end,
      "a token bucket's burst size can't be -2; give a number above 0")
  end)
end)
