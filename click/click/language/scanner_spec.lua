-- SPDX-License-Identifier: Apache-2.0
local errors = require("click.errors")
local scanner = require("click.language.scanner")

-- "kind" of each token, with the text of names; and the messages.
local function tokens(text)
  local e = errors.new()
  local s, list = scanner.new(text, "f", e), {}
  repeat
    local token = s:next()
    list[#list + 1] = token.kind == "name" and token.text or token.kind
  until token.kind == "end"
  return table.concat(list, " "), e:text()
end

describe("click.language.scanner", function ()
  it("makes tokens", function ()
    assert.equal("a :: B ; a/b@3 -> [ 0 ] c end", (tokens("a :: B; a/b@3->[0]c")))
    assert.equal("{ variable , X variable | || ... } end",
      (tokens("{$a, X $b | || ... }")))
    assert.equal("elementclass require define provide ; end",
      (tokens("elementclass require define provide;")))
    assert.equal("=> - > = ~> ~> / end", (tokens("=> - > = ~> ~/tcp> /")))
    assert.equal("a / end", (tokens("a/")))
    assert.equal("a end", (tokens("/* x\n*/ a // b")))
  end)

  it("counts lines, by # lines if there are", function ()
    local s = scanner.new('a\nb\r\nc\rd\n# 10 "x.h"\ne\n#line 3\nf\n# 5 ""\ng', "f",
      errors.new())
    local places = {}
    for i = 1, 7 do places[i] = scanner.landmark(s:next()) end
    assert.same({"f:1", "f:2", "f:3", "f:4", "x.h:10", "x.h:3", "f:5"}, places)
    assert.equal("<stdin> 3", scanner.landmark{file = "<stdin> ", line = 3})
  end)

  it("refuses other # lines", function ()
    local text, messages = tokens("a\n#define x\nb # c")
    assert.equal("a b # c end", text)
    assert.equal("f:2: unknown preprocessor directive\n", messages)
  end)

  it("takes configuration strings as they are", function ()
    for _, inside in ipairs{"", "a(b)c", '")"', "')'", "/* ) */", "// )\n",
      "\\<00 // )\n >", "\\(\\)", '"\\")"', "a # b"} do
      local s = scanner.new("(" .. inside .. ")x", "f", errors.new())
      s:next()
      assert.equal(inside, s:config())
      assert.equal(")", s:next().kind)
      assert.equal("x", s:next().text)
    end
  end)

  it("takes # lines out of configuration strings", function ()
    local s = scanner.new('(a\n# 20 "g"\nb)\nc', "f", errors.new())
    s:next()
    assert.equal("a\n\nb", s:config())
    assert.equal("g:20", scanner.landmark(s:next()))
    assert.equal("g:21", scanner.landmark(s:next()))
  end)

  it("ends with the text", function ()
    local s = scanner.new("(abc", "f", errors.new())
    s:next()
    assert.equal("abc", s:config())
    assert.equal("end", s:next().kind)
    assert.is_nil(s:accept("name"))
    assert.equal("end", s:accept("end").kind)
  end)

  it("gives tokens back", function ()
    local s = scanner.new("a b c", "f", errors.new())
    local a, b = s:next(), s:next()
    s:back(b)
    s:back(a)
    assert.equal("a", s:next().text)
    assert.equal("b", s:accept("name").text)
    assert.is_nil(s:accept("variable"))
    assert.equal("c", s:next().text)
  end)

  it("reads a line of four times as many tokens in four times the time", function ()
    local function cost(n)
      local least = math.huge
      for _ = 1, 3 do
        local scan = scanner.new(("a -> "):rep(n), "file", {})
        local began = os.clock()
        repeat until scan:next().kind == "end"
        least = math.min(least, os.clock() - began)
      end
      return least
    end
    assert.is_true(cost(16000) < 9 * cost(4000)) -- quadratic would be 16
  end)
end)
