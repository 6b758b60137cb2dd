-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local time = require("moongen.packets.utils_of_time")
local utils = require("moongen.packets.utils")

describe("libmoon's general functions", function ()
  it("swap bytes and count", function ()
    assert.equal(0x3412, utils.hton16(0x1234))
    assert.equal(0x3412, utils.bswap16(0x51234))
    assert.equal(0x78563412, utils.bswap(0x12345678))
    local value, seen = 0, {}
    for i = 1, 7 do
      seen[i] = value
      value = utils.incAndWrap(value, 3)
    end
    assert.same({0, 1, 2, 0, 1, 2, 0}, seen)
  end)

  it("sum as RFC 1071 says", function ()
    local bytes = ffi.new("uint8_t[8]",
      {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7})
    assert.equal(utils.hton16(0x220d), utils.checksum(bytes, 8))
    assert.equal(utils.hton16(0xffff - (0x1 + 0xf203 + 0xf400 - 0xffff + 0)) % 65536,
      utils.checksum(bytes, 5))
  end)

  it("read addresses", function ()
    assert.same({0x0a000001, true}, {utils.parseIPAddress("10.0.0.1")})
    local six, is_four = utils.parseIPAddress("fd00::1")
    assert.equal("fd00::1", six:getString())
    assert.is_false(is_four)
    assert.equal("fd00::4", (six + 3):getString())
    assert.is_nil((utils.parseIPAddress(nil)))
    assert.is_nil(utils.parseIP4Address("1.2.3"))
    assert.equal(0x060504030201, utils.parseMacAddress("01:02:03:04:05:06", true))
    assert.equal("01:02:03:04:05:06",
      utils.parseMacAddress("01:02:03:04:05:06"):getString())
    assert.is_nil(utils.parseMacAddress("01:02"))
    assert.equal("10.0.0.255", utils.ip4ToString(0x0a0000ff))
  end)

  it("work on texts and tables", function ()
    assert.same({"a", "b", "", "c"}, utils.strSplit("a,b,,c", ","))
    assert.same({"b"}, utils.strSplit(",b,", ","))
    assert.equal('1,"a,b","say ""no"""', utils.toCsv(1, "a,b", 'say "no"'))
    assert.equal("x y", utils.trim("  x y\n"))
    assert.same({a = 1, b = 2}, utils.mergeTables({a = 1}, {b = 2}))
    assert.same({1, 2, 3}, utils.concatArrays({1}, {2, 3}))
    assert.same({1, 2, 3}, {utils.range(3)})
    assert.same({2, 3}, {utils.range(3, 2)})
    assert.same({"1", "nil", "true"}, {utils.tostringall(1, nil, true)})
    local original = {1, {2}}
    local copy = utils.deepCopy(original)
    copy[2][1] = 3
    assert.same({1, {2}}, original)
    assert.equal("No such file or directory", utils.strError(-2))
    assert.equal("Linux", (utils.getOS()))
    assert.is_true(utils.fileExists("/dev/null"))
  end)

  it("reckon with times and rates", function ()
    assert.equal(10^10 / 8 / 10^6 - 60 - 24, time.rateToByteDelay(1))
    assert.equal(1000 * 1.25 - 84, time.timeToByteDelay(1000))
    local sum = 0
    for _ = 1, 20000 do sum = sum + time.poissonDelay(1000) end
    assert.is_true(math.abs(sum / 20000 - 1000) < 60) -- 8 standard deviations
    local seconds, micros = time.gettimeofday()
    assert.is_true(math.abs(seconds + micros / 1e6 - time.time()) < 5)
    assert.equal(-999999, time.timevalSpan({tv_sec = 1, tv_usec = 1},
      {tv_sec = 2, tv_usec = 0}))
    assert.matches("^%d%d:%d%d:%d", time.getTimeMicros())
  end)
end)
