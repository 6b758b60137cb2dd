-- SPDX-License-Identifier: Apache-2.0
local bit = require("bit")
local ffi = require("ffi")
local utils = require("moongen.packets.utils")

local function swapped(n) return bit.rshift(bit.bswap(n), 16) end

describe("libmoon's general functions", function ()
  it("sum as RFC 1071 says", function ()
    local bytes = ffi.new("uint8_t[8]",
      {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7})
    assert.equal(swapped(0x220d), utils.checksum(bytes, 8))
    assert.equal(swapped(0x19fa),
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

  it("reckon with gaps", function ()
    assert.equal(10^10 / 8 / 10^6 - 60 - 24, utils.rateToByteDelay(1))
    assert.equal(1000 * 1.25 - 84, utils.timeToByteDelay(1000))
    local sum = 0
    for _ = 1, 20000 do sum = sum + utils.poissonDelay(1000) end
    assert.is_true(math.abs(sum / 20000 - 1000) < 60) -- 8 standard deviations
  end)
end)
