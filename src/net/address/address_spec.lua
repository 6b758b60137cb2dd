-- SPDX-License-Identifier: Apache-2.0
local address = require("net.address.address")
local stack = require("lib.stack.address")

local function hex(bytes)
  return bytes and (bytes:gsub(".", function (c) return ("%02x"):format(c:byte()) end))
end

describe("net.address", function ()
  it("reads IPv4 addresses and nothing else", function ()
    for text, number in pairs{["192.0.2.1"] = 0xc0000201, ["0.0.0.0"] = 0,
                              ["255.255.255.255"] = 0xffffffff} do
      assert.equal(number, address.ip4_number(text))
      assert.equal(text, address.ip4_text(number))
    end
    for _, text in ipairs{"", "192.0.2", "192.0.2.256", "192.0.2.01", "192.0.2.001",
        "192.0.2.0001", "192.0.2.1 ", " 192.0.2.1", "192.0.2.1.", "1.2.3.4.5",
        "0x1.2.3.4", "+1.2.3.4", "1.2.3.4\0", "1..3.4", 1} do
      assert.is_nil(address.ip4_number(text), tostring(text))
    end
  end)

  it("reads IPv6 addresses, and writes them as RFC 5952 has it", function ()
    for text, written in pairs{["::"] = "::", ["2001:DB8::1"] = "2001:db8::1",
        ["1:2:3:4:5:6:7::"] = "1:2:3:4:5:6:7:0", ["1:0:0:2:0:0:0:3"] = "1:0:0:2::3",
        ["1:0:0:2:0:0:3:4"] = "1::2:0:0:3:4", ["0:1:2:3:4:5:6:7"] = "0:1:2:3:4:5:6:7",
        ["::2:0"] = "::2:0", ["::ffff:192.0.2.1"] = "::ffff:192.0.2.1",
        ["::ffff:c000:201"] = "::ffff:192.0.2.1", ["::192.0.2.1"] = "::c000:201",
        ["::ffff:0:1.2.3.4"] = "::ffff:0:102:304"} do
      assert.equal(written, address.text(address.ip6(text)), text)
      assert.equal(written, stack.parseIP6Address(text):getString(), text)
    end
    for _, text in ipairs{"", ":", "1:2:3:4:5:6:7:8::", "1::2::3", ":1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:", "12345::", "fe80::1%eth0", "[::1]", "::1 ", "::1\0x", "1:::2",
        "::1.2.3.4:1", "::ffff:192.0.2.01", "::ffff:192.0.2.256", "192.0.2.1", 1} do
      assert.is_nil(address.ip6(text), tostring(text))
    end
  end)

  it("reads Ethernet addresses in both forms", function ()
    for text, bytes in pairs{["00:01:02:0a:0B:0c"] = "0001020a0b0c",
        ["0:1:2:a:B:c"] = "0001020a0b0c", ["00-01-02-0a-0b-0c"] = "0001020a0b0c"} do
      assert.equal(bytes, hex(address.mac(text)), text)
      assert.equal("00:01:02:0a:0b:0c", address.text(address.mac(text)))
      assert.equal("00:01:02:0a:0b:0c", stack.parseMacAddress(text):getString())
    end
    assert.equal(0x0c0b0a020100, stack.parseMacAddress("0:1:2:a:b:c", true))
    for _, text in ipairs{"", "00:01:02-0a:0b:0c", "00:01:02:0a:0b:0c ", "1:2:3:4:5",
        "0001.020a.0b0c", "000:01:02:0a:0b:0c", "1:2:3:4:5:6:7", "1:2:3:4:5:6\0", 1} do
      assert.is_nil(address.mac(text), tostring(text))
    end
  end)

  it("tells one family from the other", function ()
    assert.same({"\192\0\2\1", 4}, {address.ip("192.0.2.1")})
    assert.same({("\0"):rep(15) .. "\1", 6}, {address.ip("::1")})
    assert.is_nil(address.ip("x"))
    assert.is_nil(address.ip(nil))
  end)

  it("reads networks", function ()
    assert.same({"\192\0\2\0", 24, 4}, {address.prefix("192.0.2.0/24")})
    assert.same({"\192\0\2\0", 24, 4}, {address.prefix("192.0.2.0/024")})
    assert.same({"\192\0\2\1", 32, 4}, {address.prefix("192.0.2.1")})
    assert.same({"\0\0\0\0", 0, 4}, {address.prefix("0.0.0.0/0")})
    local bytes, length, family = address.prefix("2001:db8::/64")
    assert.same({address.ip6("2001:db8::"), 64, 6}, {bytes, length, family})
    for _, text in ipairs{"192.0.2.0/33", "2001:db8::/129", "192.0.2/24", "10/8", "/8",
        "x", "", "192.0.2.0/", "192.0.2.0/-1", "192.0.2.0/+24", "192.0.2.0/ 24",
        "192.0.2.0/1e1", "192.0.2.0/24/24", "192.0.2.0/255.255.255.0"} do
      assert.is_nil(address.prefix(text), text)
    end
  end)

  it("knows stations", function ()
    assert.equal(6, #address.station("2:0:0:0:0:1", "it"))
    for _, text in ipairs{"01:00:5e:00:00:01", "00:00:00:00:00:00", "x"} do
      assert.error_matches(function () address.station(text, "it") end,
        "it .* isn't the Ethernet address of one station")
    end
  end)
end)
