-- SPDX-License-Identifier: Apache-2.0
local text = require("click.language.text")

describe("click.language.text", function ()
  it("splits arguments at commas", function ()
    assert.same({"a", "b", "c"}, text.arguments("a, b, c"))
    assert.same({"a b", "c"}, text.arguments("  a /*?*/ b,  c, "))
    assert.same({'"x, y"'}, text.arguments('"x, y" // ?'))
    assert.same({"", "b"}, text.arguments(",b"))
    assert.same({"a", "", "b"}, text.arguments("a,,b"))
    assert.same({}, text.arguments(""))
    assert.same({}, text.arguments(" /* none */ "))
    assert.same({"\\<2c, /* > */ 2c>", "'a,'b"},
      text.arguments("\\<2c, /* > */ 2c>,'a,'b"))
    assert.same({'"a\\"," b'}, text.arguments('"a\\"," b'))
    assert.same({"a", "b"}, text.arguments("a // x, y\n, b"))
  end)

  it("splits words at spaces", function ()
    assert.same({"a", "b,", "c"}, text.words("a  b, c"))
    assert.same({"'a /*?*/ b'c"}, text.words("  'a /*?*/ b'c"))
    assert.same({"a", "b"}, text.words("a/* x */b"))
    assert.same({'"a\\" b"', "18.26/16"}, text.words('"a\\" b" 18.26/16'))
    assert.same({"a", "b c"}, {text.first_word(" a b c")})
    assert.same({"", ""}, {text.first_word("  ")})
  end)

  it("removes comments, and the spaces around them", function ()
    assert.equal("a   b", text.uncomment("  a   b  "))
    assert.equal("a b", text.uncomment("  a /* c */       b  "))
    assert.equal('" /*?  */ "', text.uncomment('  " /*?  */ "  '))
    assert.equal("", text.uncomment("// x"))
    assert.equal("a", text.uncomment("a /* not closed"))
  end)

  it("unquotes", function ()
    assert.equal("\n abc /* def */", text.unquote("\"\\n\" abc /* 123 */ '/* def */'"))
    assert.equal("Hello!", text.unquote("\\<48656c6C 6f 2 /* 99 */ 1>"))
    assert.equal("Hello!x", text.unquote('"\\<48656c6C6f21>x"'))
    assert.equal("a\\nb", text.unquote("a\\nb"))
    assert.equal("\\n", text.unquote("'\\n'"))
    assert.equal("A\7B\0\"$", text.unquote('"\\x41\\a\\102\\0\\"\\$"'))
    assert.equal("ab", text.unquote('"a\\\nb"'))
    assert.equal("ab", text.unquote('"a\\\r\nb"'))
    assert.equal("it's", text.unquote('"it\'s"'))
    assert.equal("a\\", text.unquote('"a\\'))
  end)

  it("quotes so that unquote() gives it back", function ()
    local all = {}
    for byte = 0, 255 do all[#all + 1] = string.char(byte) end
    all = table.concat(all)
    assert.equal(all, text.unquote(text.quote(all)))
    assert.equal('"a\\n\\t\\001\\377"', text.quote("a\n\t\1\255"))
    assert.equal('"a\n"', text.quote("a\n", true))
  end)

  it("knows words and names", function ()
    assert.is_true(text.is_word("a-b/$x"))
    for _, s in ipairs{"", "a b", "a,b", '"a"', "a\\b", "a'"} do
      assert.is_false(text.is_word(s))
    end
    assert.is_true(text.is_name("a/b@3"))
    for _, s in ipairs{"", "/a", "a/", "a//b", "a.b"} do
      assert.is_false(text.is_name(s))
    end
  end)
end)
