-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local clock_error = require("lib.traffic.clock_error")
local real_clock = require("lib.traffic.real_clock")

describe("a clock that others read", function ()
  it("says how far it may be wrong, never less", function ()
    for _, error in ipairs{0, 1e-9, 1.5e-8, 1.023e-6, 1.025e-6, 0.000123456, 0.25, 3,
                           900} do
      local decoded = real_clock.decode(real_clock.encode(error))
      assert.is_true(decoded >= error * (1 - 1e-12), tostring(error))
      assert.is_true(decoded <= error * 1.003 + 1e-9)
    end
    assert.is_nil(real_clock.decode(real_clock.encode(nil)))
    assert.is_nil(real_clock.decode(real_clock.encode(1e6)))
  end)

  it("gives stamps that aren't ticks, and their age, either way", function ()
    local clock = real_clock.new(0, 0.002)
    local stamp = clock:stamp()
    assert.is_true(real_clock.is_real(stamp))
    assert.is_false(real_clock.is_real(123456789ULL))
    assert.near(0.002, real_clock.decode(real_clock.code_of(stamp)), 1e-5)
    local now = clock:now()
    local age = real_clock.since(stamp, now)
    assert.is_true(age >= 0)
    assert.equal(age + 5, real_clock.since(stamp, now + 5))
    assert.equal(-7, real_clock.since(stamp, now - age - 7))
    -- over the place where 48 bits come again
    local turn = ffi.cast("uint64_t", 2^48)
    assert.equal(30, real_clock.since(turn - 10ULL, ffi.cast("int64_t", turn + 20ULL)))
  end)

  it("adds the offset", function ()
    local plain, ahead = real_clock.new(0, 0), real_clock.new(2.5, 0)
    local before = plain:now()
    local difference = tonumber(ahead:now() - before)
    assert.is_true(difference >= 2.5e9)
    assert.is_true(real_clock.new(-2.5, 0):now() < plain:now())
  end)

  it("is written so", function ()
    assert.equal(0, real_clock.parse("real"))
    assert.is_false(real_clock.parse("tsc"))
    assert.near(0.0015, real_clock.parse("real+1.5ms"), 1e-12)
    assert.near(-2e-5, real_clock.parse("real-20us"), 1e-12)
    for _, text in ipairs{"", "utc", "real+", "real*2", "real+x", "real+2d"} do
      local value, problem = real_clock.parse(text)
      assert.is_nil(value)
      assert.truthy(problem:find("is no clock", 1, true))
    end
  end)

  it("asks chrony, as chronyc(1) adds it up", function ()
    local line = "C0000201,192.0.2.1,2,1795862223.5,-0.000010,0.000001,0.000020,-1.5,"
      .. "-0.5,1.5,0.002000,0.000300,64.2,Normal"
    local bound, growth = clock_error.of_chrony(line)
    assert.near(0.00131, bound, 1e-12)
    assert.near(2e-6, growth, 1e-15)
    assert.is_nil(clock_error.of_chrony(line:gsub("Normal", "Not synchronised")))
    assert.is_nil(clock_error.of_chrony("506 Cannot talk to daemon"))
    assert.is_nil(clock_error.of_chrony(nil))
    assert.is_nil((clock_error.of_chrony(line:gsub("0.002000", "x"))))
  end)

  it("asks the kernel", function ()
    local bound = clock_error.of_kernel()
    assert.is_true(bound == nil or bound >= 0 and bound < 1e6)
    local given, source = clock_error.new(0.5):bound()
    assert.same({0.5, "given"}, {given, source})
  end)
end)
