-- SPDX-License-Identifier: Apache-2.0
-- Addresses against literal bytes, against arithmetic done bytewise in Lua, and
-- after slow code has used them as often as it takes to upset the JIT.

local ffi = require("ffi")
local address = require("lib.stack.address")
local testing = require("testing.support")

local Mac, Ip4, Ip6 = address.Mac, address.Ip4, address.Ip6

local function bytes(a)
  return (ffi.string(a, ffi.sizeof(a)):gsub(".", function (c)
    return ("%02x"):format(c:byte())
  end))
end

local function ip6(text)
  return assert(address.parseIP6Address(text), text)
end

-- 128-bit addition of a whole number, a byte at a time.
local function add_bytewise(a, n)
  local result, carry = Ip6(a), n
  for i = 15, 0, -1 do
    local total = a.uint8[i] + carry % 256
    result.uint8[i] = total % 256
    carry = math.floor(carry / 256) + math.floor(total / 256)
  end
  return result
end

local function random_ip6()
  local a = Ip6()
  for i = 0, 15 do
    -- Runs of 00 and ff make carries and :: likely.
    a.uint8[i] = ({0, 255, math.random(0, 255)})[math.random(3)]
  end
  return a
end

describe("address types", function ()
  it("lie packed in any struct", function ()
    for ctype, size in pairs{[Mac] = 6, [Ip4] = 4, [Ip6] = 16} do
      assert.equal(size, ffi.sizeof(ctype))
      assert.equal(1, ffi.alignof(ctype))
    end
  end)

  it("are compared by value, and unequal to anything else", function ()
    assert.is_true(Mac() == Mac())
    assert.is_true(Ip4() == Ip4())
    assert.is_true(Ip6() == Ip6())
    for _, other in ipairs{0, "0.0.0.0", false, Mac(), Ip6()} do
      assert.is_false(Ip4() == other)
    end
    assert.is_false(Ip4() == nil)
    assert.is_false(ip6("::1") == ip6("1::1"))
  end)

  it("say what they can't be set to", function ()
    assert.error_matches(function () Mac():set("x") end, "number.*'x'.*setString")
    assert.error_matches(function () Ip4():set({}) end, "number.*setString")
    assert.error_matches(function () Ip6():set(1) end, "another address.*'1'")
    assert.error_matches(function () Mac():setString("1:2:3") end, "'1:2:3' is not")
    assert.error_matches(function () Ip4():setString("::1") end, "'::1' is not")
    assert.error_matches(function () Ip6():setString(nil) end, "'nil' is not")
  end)
end)

describe("an Ethernet address", function ()
  it("is a number with its first byte lowest", function ()
    local mac = Mac()
    mac:set(0xfeffffff8001)
    assert.equal("0180fffffffe", bytes(mac))
    assert.equal(0xfeffffff8001, mac:get())
    local other = Mac()
    other:set(mac)
    assert.is_true(mac == other)
    other:set(0x010203040506ULL)
    assert.equal("06:05:04:03:02:01", tostring(other))
  end)

  it("is parsed as a whole", function ()
    assert.equal("010203aabbff", bytes(address.parseMacAddress("1:2:03:Aa:bb:FF")))
    assert.equal(0xffbb00030201,
      address.parseMacAddress("01-02-03-00-bb-ff", true))
    for _, bad in ipairs{"", "1:2:3:4:5", "1:2:3:4:5:6:7", " 1:2:3:4:5:6",
        "1:2:3:4:5:6 ", "1:2:3:4:5:g", "001:2:3:4:5:6", "1-2:3:4:5:6", 12} do
      assert.is_nil(address.parseMacAddress(bad), tostring(bad))
    end
  end)
end)

describe("an IPv4 address", function ()
  it("is an unsigned number in host order", function ()
    local ip = Ip4()
    ip:set(0xc8000001)
    assert.equal("c8000001", bytes(ip))
    assert.equal(0xc8000001, ip:get())
    assert.equal(address.parseIP4Address("200.0.0.1"), ip:get())
    ip:set(0xc8000001ULL)
    assert.equal("200.0.0.1", ip:getString())
    assert.equal("200.0.0.1", address.ip4ToString(0xc8000001))
  end)

  it("is counted up and down modulo 2^32", function ()
    local ip = Ip4()
    ip:setString("255.255.255.255")
    assert.equal(0, ip + 1)
    assert.equal(4, 5 + ip)
    assert.equal(0xfffffffa, ip - 5)
    assert.equal(0xfffffffa, ip + -5)
    ip:add(2)
    assert.equal("0.0.0.1", tostring(ip))
    ip:add(-3)
    assert.equal("255.255.255.254", tostring(ip))
    local low = Ip4()
    assert.same({true, true, false}, {low < ip, low <= low, ip < low})
  end)

  it("is parsed as a whole", function ()
    assert.equal(0, address.parseIP4Address("0.0.0.0"))
    assert.equal(0xffffffff, address.parseIP4Address("255.255.255.255"))
    for _, bad in ipairs{"", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4 ", "a1.2.3.4",
        "1.2.3.04", "1..2.3", "1.2.3.4\0", 1} do
      assert.is_nil(address.parseIP4Address(bad), tostring(bad))
    end
  end)
end)

describe("an IPv6 address", function ()
  it("is parsed and printed as RFC 5952 has it", function ()
    for text, printed in pairs{
      ["2001:0db8:0000:0000:0000:0000:0002:0001"] = "2001:db8::2:1",
      ["2001:db8:0:1:1:1:1:1"] = "2001:db8:0:1:1:1:1:1",
      ["2001:0:0:1:0:0:0:1"] = "2001:0:0:1::1",
      ["2001:db8:0:0:1:0:0:1"] = "2001:db8::1:0:0:1",
      ["2001:DB8::AAAA"] = "2001:db8::aaaa",
      ["0:0:0:0:0:0:0:0"] = "::", ["::1"] = "::1", ["1::"] = "1::",
      ["::192.0.2.1"] = "::c000:201", ["::FFFF:192.0.2.1"] = "::ffff:192.0.2.1",
    } do
      assert.equal(printed, tostring(ip6(text)))
    end
    for _, bad in ipairs{"", ":", ":::", "1", "1::2::3", "::1 ", " ::1", "::g",
        "::1%eth0", "::1/64", "::1\0", "1:2:3:4:5:6:7:8:9", 1} do
      assert.is_nil(address.parseIP6Address(bad), tostring(bad))
    end
  end)

  it("survives being printed and parsed", function ()
    for _ = 1, 500 do
      local a = random_ip6()
      assert.is_true(a == ip6(a:getString()), bytes(a))
    end
  end)

  it("carries in 128 bits, both ways", function ()
    local all = ip6("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")
    assert.is_true(all + 1 == ip6("::"))
    assert.is_true(ip6("::") - 1 == all)
    assert.is_true(ip6("::") + -5 == all - 4)
    assert.is_true(5 + ip6("::fffb") == ip6("::1:0"))
    assert.is_true(ip6("::") + 0xffffffffffffffffULL == ip6("::ffff:ffff:ffff:ffff"))
    assert.is_true(ip6("::") - 0xffffffffffffffffULL
      == ip6("ffff:ffff:ffff:ffff::1"))
    assert.is_true(ip6("0:0:0:1::") + -1LL == ip6("::ffff:ffff:ffff:ffff"))
    for _ = 1, 500 do
      local a, n = random_ip6(), math.random(-2^40, 2^40)
      local expected = add_bytewise(a, n)
      assert.is_true(a + n == expected)
      assert.is_true(a - -n == expected)
      assert.is_true(expected - n == a)
      local moved = a:get()
      moved:add(n)
      assert.is_true(moved == expected)
    end
  end)

  it("is ordered as its bytes are", function ()
    for _ = 1, 500 do
      local a, b = random_ip6(), random_ip6()
      assert.equal(bytes(a) < bytes(b), a < b)
      assert.equal(bytes(a) <= bytes(b), a <= b)
    end
  end)
end)

describe("parseIPAddress", function ()
  it("tells IPv4 from IPv6 and from neither", function ()
    assert.same({0x01020304, true}, {address.parseIPAddress("1.2.3.4")})
    local a, is4 = address.parseIPAddress("::1")
    assert.is_true(a == ip6("::1"))
    assert.is_false(is4)
    local none, is_none4 = address.parseIPAddress("no")
    assert.is_nil(none)
    assert.is_false(is_none4)
  end)
end)

describe("incAndWrap", function ()
  it("counts from 0 to the maximum less 1", function ()
    local value, seen = 0, {}
    for i = 1, 7 do
      seen[i] = value
      value = address.incAndWrap(value, 3)
    end
    assert.same({0, 1, 2, 0, 1, 2, 0}, seen)
  end)
end)

describe("the packet path", function ()
  local function fast(mac, ip, v6, n)
    for i = 1, n do
      mac:set(i)
      ip:set(mac:get())
      ip:add(1)
      v6:add(ip:get())
    end
  end

  -- LuaJIT gives up on a function that is called often from interpreted code and ends
  -- in a tail call.
  it("stays compiled after any number of slow calls #slow", function ()
    local mac, ip, v6 = Mac(), Ip4(), Ip6()
    local function slow()
      for _ = 1, 200000 do
        local _ = mac:getString() .. ip:getString()
        mac:set(mac:get())
        ip:set(ip:get())
        ip:add(1)
        v6:add(1)
        v6:set(v6 + 1)
        mac:setString("02:00:00:00:00:01")
        ip:setString("192.0.2.1")
        v6:setString("2001:db8::1")
      end
    end
    jit.off(slow)
    slow()
    local given_up = testing.given_up(fast, mac, ip, v6, 10000)
    assert.equal(0, given_up)
    assert.equal(10001, ip:get())
  end)
end)
