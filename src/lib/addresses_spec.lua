-- SPDX-License-Identifier: Apache-2.0

local addresses = require("lib.addresses")

describe("addresses", function ()
  it("are written as people do", function ()
    for _, text in ipairs{"192.0.2.1", "2001:db8::1", "fe80::1"} do
      assert.equal(text, addresses.text((addresses.ip(text))))
    end
    local mac = addresses.mac("02:00:00:00:AB:01")
    assert.equal("02:00:00:00:ab:01", addresses.text(mac))
    assert.is_nil(addresses.ip("x"))
    assert.is_nil(addresses.mac("02:00:00:00:00:01x"))
  end)

  it("have a length, as networks", function ()
    assert.same({"\192\0\2\0", 24, 4}, {addresses.prefix("192.0.2.0/24")})
    assert.same({"\192\0\2\1", 32, 4}, {addresses.prefix("192.0.2.1")})
    local bytes, length, family = addresses.prefix("2001:db8::/64")
    assert.same({(addresses.ip("2001:db8::")), 64, 6}, {bytes, length, family})
    for _, text in ipairs{"192.0.2.0/33", "2001:db8::/129", "192.0.2/24", "/8", "x", "",
                          "192.0.2.0/", "192.0.2.0/-1"} do
      assert.is_nil(addresses.prefix(text), text)
    end
  end)
end)
