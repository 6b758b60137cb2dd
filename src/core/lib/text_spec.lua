-- SPDX-License-Identifier: Apache-2.0

local text = require("core.lib.text")

local function pieces(s, pattern)
  local result = {}
  for piece, separator in s:split(pattern) do
    result[#result + 1] = {piece, separator}
  end
  return result
end

describe("split", function()
  it("gives the pieces and the separators between them", function()
    assert.same({{"a", ","}, {"b", ","}, {"c"}}, pieces("a,b,c", ","))
    assert.same({{"a", " = "}, {"b"}}, pieces("a = b", "%s*=%s*"))
  end)

  it("keeps empty pieces", function()
    assert.same({{"", ","}, {"", ","}, {""}}, pieces(",,", ","))
    assert.same({{""}}, pieces("", ","))
  end)

  it("gives the pattern's captures in place of the separator", function()
    assert.same({{"foo", "!"}, {"bar", "?"}, {"baz"}}, pieces("foo!bar?baz", "([!?])"))
  end)
end)

describe("hexdump", function()
  it("is upper-case pairs", function()
    assert.equal("45 00 B6", text.hexdump("\x45\x00\xb6"))
    assert.equal("", text.hexdump(""))
    assert.equal("0A", text.hexdump("\n"))
  end)

  it("takes a jumbo frame", function()
    assert.equal(3 * 10240 - 1, #text.hexdump(("\xff"):rep(10240)))
  end)
end)

describe("hexundump", function()
  it("reads pairs, whatever stands between them", function()
    assert.equal("\x45\x00\xb6\x7d\xfa", text.hexundump("4500 b6:7D\nfa", 5))
  end)

  it("stops after n bytes", function()
    assert.equal("\x01\x02", text.hexundump("010203", 2))
  end)

  it("refuses too few bytes, unless told not to", function()
    assert.has_error(function() text.hexundump("01", 2) end,
      "hexadecimal text has 1 bytes, not 2")
    assert.has_error(function() text.hexundump("01", 2, "no MAC") end, "no MAC")
    assert.equal("\x01\0", text.hexundump("01", 2, false))
  end)

  it("undoes hexdump for every byte", function()
    local all = {}
    for i = 0, 255 do all[#all + 1] = string.char(i) end
    all = table.concat(all)
    assert.equal(all, text.hexundump(text.hexdump(all), 256))
  end)
end)
