-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local packet = require("core.packet")
local patterns = require("click.classification.patterns")

local there = patterns.new({"x"}, true) ~= nil
local describe_it = there and describe or function (name, _)
  describe(name, function ()
    pending("needs Hyperscan (libhyperscan5), which isn't installed")
  end)
end

local function outputs(unit, texts)
  local list = {}
  for i, text in ipairs(texts) do list[i] = (unit:send(text)[1] or {0})[1] end
  return list
end

describe_it("StringMatcher", function ()
  it("sends packets with one of the strings to its second output", function ()
    local unit = click.unit('StringMatcher(xnet, "text 1", test3)', {outputs = 2})
    assert.same({2, 2, 2, 1, 1, 1, 2}, outputs(unit, {"xnet", "a text 1 b", "...test3",
      "text1", "xne", "", "xnet test3"}))
    assert.equal("4", tostring(unit:read("matches")))
    local new = click.unit("StringMatcher(ynet)", {outputs = 2})
    new.element:take_state(unit.element)
    assert.equal("4", tostring(new:read("matches")))
    new:free()
    unit:write("reset_count", "")
    assert.equal("0", tostring(unit:read("matches")))
    unit:free()
  end)

  it("drops them without one, and matches any bytes", function ()
    local unit = click.unit([[StringMatcher("\<00 ff>", a.c)]])
    assert.same({0, 0, 1, 1}, outputs(unit, {"1\0\2552", "a.c", "abc", "\255\0"}))
    assert.same({match = 2}, unit.lost)
    unit:free()
  end)

  it("finds strings that begin with a zero byte, beside any others", function ()
    for _, first in ipairs{[["\<00 ff>"]], [["\<00 ff>", "\<0a>.", "(a*"]]} do
      local unit = click.unit(("StringMatcher(%s)"):format(first), {outputs = 2})
      assert.same({2, 2, 1, 1, 1, 1}, outputs(unit, {"\0\255", "..\0\255..", "\0",
        "\255", "\0.\255", "\\x00\\xff"}))
      unit:free()
    end
    local unit = click.unit([[StringClassifier("(a*", "\<0a>.", "\<00>")]],
      {outputs = 3})
    assert.same({1, 2, 3, 0, 0}, outputs(unit, {"b(a*", "\n.", "\n\0", "\nx", "aaa"}))
    unit:free()
  end)

  it("says what is wrong", function ()
    assert.same({"no patterns"}, click.unit("StringMatcher()").errors)
    assert.same({"pattern 2, '\"\"': an empty pattern"},
      click.unit('StringMatcher(a, "")').errors)
  end)

  it("finds each of many strings, and no other, wherever it is", function ()
    local list, quoted = {}, {}
    for i = 1, 300 do
      list[i] = ("%x"):format(i * 2654435761 % 2 ^ 32) .. "!"
      quoted[i] = ('"%s"'):format(list[i])
    end
    local unit = click.unit("StringMatcher(" .. table.concat(quoted, ",") .. ")",
      {outputs = 2})
    for i, text in ipairs(list) do
      local before, after = ("."):rep(i % 70), ("."):rep(i % 7)
      assert.same({2, 1}, outputs(unit, {before .. text .. after,
        before .. text:sub(1, -2) .. after}))
    end
    unit:free()
  end)
end)

describe_it("RegexMatcher", function ()
  it("sends packets that match to its first output", function ()
    local unit = click.unit('RegexMatcher("xnet", "he.*o")', {outputs = 2})
    assert.same({1, 1, 2, 2}, outputs(unit, {"..xnet", "a heo", "he", ""}))
    unit:write("match_all", "true")
    assert.same({2, 2, 1}, outputs(unit, {"..xnet", "a heo", "heo xnet"}))
    assert.equal('"he.*o"', unit:read("pattern1"))
    assert.matches("parenthesis", unit:write("pattern1", '"b("'))
    assert.same({2, 2, 1}, outputs(unit, {"..xnet", "a heo", "heo xnet"}))
    unit:write("pattern1", '"^b"')
    assert.same({2, 1}, outputs(unit, {"heo", "b"}))
    unit:free()
  end)

  it("looks behind the headers if told so", function ()
    local unit = click.unit("RegexMatcher(head, PAYLOAD_ONLY true)", {outputs = 2})
    local function output(at)
      local p = packet.from_string("head, and the rest")
      p.note16[0], p.note16[1], p.note16[2] = 0, 0, 0
      if at then p.note16[2] = p.data_off + at end
      return unit:send(p)[1][1]
    end
    assert.same({1, 1, 2, 1, 2}, {output(), output(0), output(1), output(1000),
      output(18)})
    unit:free()
  end)

  it("says what is wrong with an expression", function ()
    local said = click.unit('RegexMatcher(a, "b(")').errors
    assert.matches("^pattern 2, '\"b%(\"': Missing close parenthesis", said[1])
    assert.matches("zero byte", click.unit([[RegexMatcher("a\<00>b")]]).errors[1])
  end)
end)

describe_it("StringClassifier, RegexClassifier", function ()
  it("send packets to the output of the first pattern that matches", function ()
    local unit = click.unit("StringClassifier(xnet, hello, net)", {outputs = 3})
    assert.same({1, 2, 3, 1, 2, 0}, outputs(unit, {"xnet", "hello", "net",
      "hello net xnet", "net hello", "none"}))
    assert.same({["no match"] = 1}, unit.lost)
    unit:free()
    unit = click.unit('RegexClassifier("xnet", "he.*o", ".*")', {outputs = 3})
    assert.same({1, 2, 3, 1}, outputs(unit, {"xnet", "heyo", "net", "heo xnet"}))
    unit:free()
  end)

  it("want a pattern for each output", function ()
    assert.same({"need 2 arguments, one per output port"},
      click.unit("RegexClassifier(a)", {outputs = 2}).errors)
  end)
end)
