-- SPDX-License-Identifier: Apache-2.0
local expand = require("click.script.expand")
local text = require("click.language.text")

describe("variables in scripts", function ()
  local values = {x = "1", y = 'a "b"', name = "x", ["?"] = "0", ["$"] = "17",
    ["#"] = "2", add = "sum", lines = "a\nb"}

  local function resolve(name, kind)
    if kind == "(" then return "<" .. name .. ">" end
    return values[name]
  end

  local function expanded(s, quote_all) return expand.text(s, resolve, quote_all) end

  it("are replaced by their values", function ()
    assert.equal("no variable", expanded("no variable"))
    assert.equal("1 1 1z", expanded("$x ${x} ${x}z"))
    assert.equal("0 17 2", expanded("$? $$ $#"))
    assert.equal('a "b"', expanded("$y"))
  end)

  it("stay when nothing is known of them", function ()
    assert.equal("$z ${z} $ $- $", expanded("$z ${z} $ $- $"))
    assert.equal("${1}", expanded("${$x}"))
    assert.equal("$(never closed $x", expanded("$(never closed $x"))
    assert.equal("${never closed $x", expanded("${never closed $x"))
  end)

  it("call handlers, from the innermost", function ()
    assert.equal("<a.b 1> <c (d)>", expanded("$(a.b 1) $(c (d))"))
    assert.equal("<sum 1 <f>>", expanded("$($add $x $(f))"))
    assert.equal("<f ')' \\) \")\">", expanded("$(f ')' \\) \")\")"))
  end)

  it("follow quotes and comments", function ()
    assert.equal("'$x' 1", expanded("'$x' $x"))
    assert.equal([["a \"b\"" a "b"]], expanded('"$y" $y'))
    assert.equal([["\$x"]], expanded([["\$x"]]))
    assert.equal("/* $x */1// $x\n1", expanded("/* $x */$x// $x\n$x"))
    assert.equal([["it's 1"]], expanded([["it's $x"]]))
  end)

  it("get quotes where that is wanted, so that unquote gives them back", function ()
    assert.equal([["a \"b\"" "a \"b\""]], expanded('$y "$y"', true))
    assert.equal("a\nb", text.unquote(expanded("$lines", true)))
  end)

  it("end somewhere", function ()
    local s = ("$("):rep(50) .. "x" .. (")"):rep(50)
    assert.is_string(expanded(s))
  end)
end)
