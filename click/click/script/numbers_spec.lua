-- SPDX-License-Identifier: Apache-2.0
local numbers = require("click.script.numbers")

describe("numbers of scripts", function ()
  local function int(text)
    local value = numbers.integer(text)
    return value and numbers.text(value)
  end

  it("are 64-bit integers with C's prefixes", function ()
    assert.equal("10", int("10"))
    assert.equal("-10", int("-10"))
    assert.equal("31", int("0x1F"))
    assert.equal("-31", int("-0x1f"))
    assert.equal("3", int("0b11"))
    assert.equal("15", int("017"))
    assert.equal("0", int("0"))
    assert.equal("1000", int("1_000"))
    assert.equal("9223372036854775807", int("9223372036854775807"))
    assert.equal("-9223372036854775808", int("-9223372036854775808"))
    assert.equal("18446744073709551615",
      numbers.text(numbers.unsigned("0xffffffffffffffff")))
  end)

  it("aren't what is too large or something else", function ()
    for _, text in ipairs {"", "-", "+", "0x", "08", "1__0", "1_", "_1", "1 ", "1.5",
        "ten", "9223372036854775808", "-9223372036854775809",
        "18446744073709551616", "99999999999999999999999"} do
      assert.is_nil(int(text), text)
    end
    assert.is_nil(numbers.unsigned("-1"))
    assert.is_nil(numbers.unsigned("18446744073709551616"))
  end)

  it("are small integers where a range is given", function ()
    assert.equal(7, numbers.small("7", 0, 7))
    assert.is_nil(numbers.small("8", 0, 7))
    assert.is_nil(numbers.small("-1", 0, 7))
  end)

  it("are doubles of at most 12 digits", function ()
    assert.equal("0.333333333333", numbers.text(1 / 3))
    assert.equal("1e+20", numbers.text(numbers.double("1e20")))
    assert.equal("inf", numbers.text(numbers.double("inf")))
    assert.equal(-0.5, numbers.double("-.5"))
    for _, text in ipairs {"", " 1", "1 ", "1e999", "1e-400", "1x", "."} do
      assert.is_nil(numbers.double(text), text)
    end
  end)

  it("are truth values by their words", function ()
    assert.is_true(numbers.bool("yes"))
    assert.is_false(numbers.bool("0"))
    assert.is_nil(numbers.bool("TRUE"))
  end)
end)
