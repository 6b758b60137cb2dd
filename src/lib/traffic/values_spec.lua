-- SPDX-License-Identifier: Apache-2.0
-- The texts that fields are set to.

local values = require("lib.traffic.values")

local U16 = {kind = "uint", bits = 16}
local IP4, IP6 = {kind = "ip4", bits = 32}, {kind = "ip6", bits = 128}
local MAC = {kind = "mac", bits = 48}

describe("lib.traffic.values", function()
  local function spec(text, field)
    local s = assert(values.parse(text, field))
    s.text = nil
    return s
  end

  it("takes constants", function()
    assert.are.same({kind = "constant", count = 1, first = 53}, spec("53", U16))
    assert.are.same({kind = "constant", count = 1, first = 255}, spec("0xff", U16))
    assert.are.same({kind = "constant", count = 1, first = "10.0.0.1"},
                    spec("10.0.0.1", IP4))
    assert.are.equal("2001:db8::1", spec("2001:db8::1", IP6).first)
    assert.are.equal(2^53, spec("9007199254740992", {kind = "uint", bits = 64}).first)
  end)

  it("takes ranges, both ends included", function()
    assert.are.same({kind = "range", low = 1, count = 65535, first = 1},
                    spec("1..65535", U16))
    assert.are.same({kind = "range", low = 0x0a000001, count = 65535,
                     first = "10.0.0.1"}, spec("10.0.0.1..10.0.255.255", IP4))
    assert.are.same({kind = "range", low = 0x0200000000ff, count = 2,
                     first = "02:00:00:00:00:ff"},
                    spec("02:00:00:00:00:ff..02:00:00:00:01:00", MAC))
    local s = spec("2001:db8::ffff:ffff:ffff:fff0..2001:db8::ffff:ffff:ffff:FFFF", IP6)
    assert.are.equal(16, s.count)
    assert.are.equal(0xfffffffffffffff0ULL, s.low)
  end)

  it("takes random values and lists", function()
    assert.are.same({kind = "random", low = 0, count = 65536}, spec("random", U16))
    assert.are.same({kind = "random", low = 5, count = 3, first = 5},
                    spec("random:5..7", U16))
    assert.are.same({kind = "random", low = 0x020000000000, count = 2^40},
                    spec("random", MAC))
    assert.are.same({kind = "list", list = {80, 443}, count = 2, first = 80},
                    spec("80,443", U16))
  end)

  it("says what is wrong, and what is allowed", function()
    for text, case in pairs{
      ["65536"] = {U16, "'65536' isn't a whole number from 0 to 65535"},
      ["-1"] = {U16, "'-1' isn't a whole number"}, [""] = {U16, "'' isn't a whole"},
      ["1.5"] = {U16, "'1.5' isn't"}, ["9..3"] = {U16, "9 is above 3"},
      ["1..x"] = {U16, "'x' isn't"}, ["1,,2"] = {U16, "'' isn't"},
      ["rnd"] = {U16, "'rnd' isn't"}, ["random:"] = {U16, "'random:' isn't"},
      ["random:7"] = {U16, "'random:7' isn't"},
      ["10.0.0.256"] = {IP4, "'10.0.0.256' isn't an IPv4 address such as 10.0.0.1"},
      ["10.0.0.1..9"] = {IP4, "'9' isn't an IPv4 address"},
      ["02:00"] = {MAC, "'02:00' isn't a MAC address"},
      ["random"] = {IP6, "their bounds"},
      ["::1..1::1"] = {IP6, "the same first 64 bits"},
      ["ab"] = {{kind = "bytes", bits = 16}, "type bytes can't be set"},
    } do
      local s, problem = values.parse(text, case[1])
      assert.is_nil(s, text)
      assert.matches(case[2], problem, 1, true)
      assert.matches("allowed are one value, LOW..HIGH, a list a,b,c, random and"
                     .. " random:LOW..HIGH", problem, 1, true)
    end
  end)

  it("gives the values in their order, and again", function()
    local s = spec("7..9", U16)
    assert.are.same({7, 8, 9, 7}, {values.at(s, 0), values.at(s, 1), values.at(s, 2),
                                   values.at(s, 3)})
    s = spec("4,2", U16)
    assert.are.same({4, 2, 4}, {values.at(s, 0), values.at(s, 1), values.at(s, 2)})
    s = spec("random:100..109", U16)
    local seen, n = {}, 0
    for i = 0, 999 do
      local v = values.at(s, i, 9ULL)
      assert.is_true(v >= 100 and v <= 109)
      if not seen[v] then seen[v], n = true, n + 1 end
    end
    assert.are.equal(10, n)
  end)
end)
