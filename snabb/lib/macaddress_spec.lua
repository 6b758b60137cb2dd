-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local macaddress = require("lib.macaddress")

describe("lib.macaddress", function ()
  it("reads and prints addresses", function ()
    local mac = macaddress:new("02:0a:ff:00-10 99")
    assert.equal("02:0A:FF:00:10:99", tostring(mac))
    assert.equal("\2\10\255\0\16\153", ffi.string(mac.bytes, 6))
    assert.equal(mac, macaddress:new(mac))
    assert.equal(tostring(mac), tostring(macaddress:from_bytes(mac.bytes)))
    assert.equal("01:00:00:00:00:00", tostring(macaddress:new(1)))
    for _, text in ipairs{"02:00:00:00:00", "02:00:00:00:00:00:01", "", "xyz"} do
      local none, reason = macaddress:new(text)
      assert.is_nil(none)
      assert.matches("malformed", reason)
    end
  end)

  it("compares addresses, and takes bits out of them", function ()
    local a, b = macaddress:new("02:00:00:00:00:01"), macaddress:new("020000000001")
    assert.is_true(a == b)
    assert.is_false(a == macaddress:new("02:00:00:00:00:02"))
    local c = macaddress:new("01:02:03:04:05:06") -- the first byte is the lowest
    assert.equal(0x04030201, c:subbits(0, 32))
    assert.equal(0x0605, c:subbits(32, 48))
    assert.equal(1, c:subbits(0, 1))
    assert.equal(0x20, c:subbits(4, 12))
  end)
end)
