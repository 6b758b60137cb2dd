-- SPDX-License-Identifier: Apache-2.0
local variables = require("click.language.variables")

describe("click.language.variables", function ()
  local function scope(values, parent)
    local s = variables.scope(parent)
    for name, value in pairs(values) do s:define(name, value) end
    return s
  end

  it("replaces variables, and leaves the unknown", function ()
    local s = scope{a = "x y", n = "1", deep = "<$a>"}
    for from, to in pairs{
      ["$a, ${a}b, $b"] = "x y, x yb, $b",
      ["${ a }"] = "x y", ["${a[1]}"] = "y", ["${a[$n]}"] = "y", ["${a[7]}"] = "",
      ["${b-$a}"] = "x y", ["${b-}"] = "", ["${a-z}"] = "x y", ["${b[$n]}"] = "${b[1]}",
      ["$deep"] = "<x y>", ["'$a' $a"] = "'$a' x y", ["$"] = "$", ["5$ $a"] = "5$ x y",
      ["// $a\n$a"] = "// $a\nx y", ["/* $a */ $n"] = "/* $a */ 1", ["${a"] = "${a",
      ['"\\$a $a"'] = '"\\$a x y"', ["\\$a"] = "\\x y", ["$(h $a)"] = "$(h x y)",
      ["$(h"] = "$(h",
    } do assert.equal(to, s:expand(from), from) end
  end)

  it("escapes values within double quotes", function ()
    local s = scope{a = 'say "x"\n'}
    assert.equal('"say \\"x\\"\\n!"', s:expand('"$a!"'))
    assert.equal('say "x"\n!', s:expand("$a!"))
  end)

  it("looks in the scopes around", function ()
    local outer = scope{a = "1", b = "2"}
    local inner = scope({a = "3"}, outer)
    assert.equal("3 2", inner:expand("$a $b"))
    assert.equal(outer, inner:outside(1))
    assert.is_nil(inner:outside(0))
    assert.is_false(inner:define("a", "4"))
    assert.equal("3", inner:value("a"))
    inner:define("a", "4", true)
    assert.equal("4", inner:value("a"))
  end)

  it("ends with values that contain themselves", function ()
    assert.equal("<", scope{a = "<$a"}:expand("$a"):sub(1, 1))
  end)

  it("asks for what stands in parentheses", function ()
    local asked = {}
    local function find(name, kind)
      asked[#asked + 1] = kind .. name
      return kind == "(" and "[" .. name .. "]" or nil
    end
    assert.equal('[add [f "("] 2] "a b"',
      variables.expand('$(add $(f "(") 2) "a b"', find))
    assert.same({'(f "("', '(add [f "("] 2'}, asked)
    assert.equal('"[a]" "[b]"',
      variables.expand('$(a) "$(b)"', find, {quote_words = true}))
  end)
end)
