-- SPDX-License-Identifier: Apache-2.0
local errors = require("click.errors")
local flatfile = require("click.language.flatfile")
local language = require("click.language")

-- The flat configuration in one line, or the messages.
local function read(text)
  local e = errors.new()
  local flat = language.read{text = text, file = "f", errors = e,
    class_of = function (name) return name:find("^[A-D]$") end}
  return flat and (flatfile.text(flat):gsub("\n+ *", " "):gsub(" $", "")) or e:text()
end

describe("Compound elements", function ()
  it("are replaced by what they are made of", function ()
    assert.equal("A@2 :: A; x/A@1 :: A; A@2 -> x/A@1;",
      read("elementclass X { input -> A } x :: X; A -> x;"))
    assert.equal("a :: A; b :: B; x/C@1 :: C(5); a -> x/C@1 -> b;",
      read("elementclass X { $v | input -> C($v) -> output } a::A -> x::X(5) -> b::B"))
    assert.equal("a :: A; b :: B; a -> b;", read("a :: A -> { -> } -> b :: B"))
    assert.equal("a :: A; b :: B; a [1] -> b; a -> [1] b;",
      read("a :: A; b :: B; a [0,1] => [0,1] { input [0,1] => [1] output, output } "
        .. "[0,1] => [0,1] b"))
  end)

  it("are where their first token is, in messages", function ()
    assert.equal("f:3: 'X' input 0 missing",
      (read("elementclass X {\n\n input [1] -> output }"):gsub("\n$", "")))
    assert.equal("f:3: 'X' output 0 missing",
      (read("elementclass X\n{\n $a | A -> [1] output }"):gsub("\n$", "")))
  end)

  it("may be within each other; the inner ones come later", function ()
    assert.equal("x/A@1 :: A; x/B@3 :: B; x/y/C@1 :: C; x/A@1 -> x/y/C@1 -> x/B@3;",
      read("x :: { A -> y :: { input -> C -> output } -> B }"))
  end)

  it("see classes where they are written", function ()
    assert.equal("X@1/A@1 :: A;", read("elementclass X { A } X"))
    assert.equal("B@1/B@1 :: B;", read("elementclass B { B } B"))
    assert.equal("B@1/B@1/B@1 :: B;",
      read("elementclass B { B } elementclass B { B } B"))
    assert.equal("f:1: undeclared element 'Y'\n",
      read("elementclass X { elementclass Y { A } } Y"))
    assert.equal("X@1/Y@1/A@1 :: A;",
      read("elementclass X { elementclass Y { A } Y } X"))
    assert.equal("Y@1 :: A;", read("elementclass Y A; Y"))
    assert.equal("f:1: unknown element class 'Z'\n", read("elementclass Y Z;"))
  end)

  it("see variables where they are written", function ()
    assert.equal("X@1/Y@1/A@1 :: A(1 2);", read(
      "elementclass X { $a | elementclass Y { $b | A($a $b) } Y(2) } X(1)"))
    assert.equal("X@1/Z@1/Y@1/A@1 :: A(1);", read("elementclass X { $a | "
      .. "elementclass Y { A($a) } elementclass Z { $a | Y } Z(3) } X(1)"))
    assert.equal("X@1/A@1 :: A(5 $b);",
      read("elementclass X { define($a 5) A($a $b) } X"))
    assert.equal("X@1/A@1 :: A(x 27);",
      read("define($g x) elementclass X { $a | define($b ${a}7) A($g $b) } X(2)"))
  end)

  it("take arguments by position and keyword, and the rest", function ()
    local X = "elementclass X { $a, K $k, __REST__ $r | A($a; $k; $r) } "
    assert.equal("X@1/A@1 :: A(1; 2; 3, L 4);", read(X .. "X(1, K 2, 3, L 4)"))
    assert.equal("X@1/A@1 :: A(K 1; 2; );", read(X .. "X(K 1, K 2)"))
    assert.equal("f:1: no match for 'X[1 argument, 0 inputs, 0 outputs]'\n"
      .. "f:1: candidates are:\nf:1:   X(<arg>, K, ...)[0 inputs, 0 outputs]\n",
      read(X .. "X(1)"))
  end)

  it("are chosen by ports and arguments", function ()
    local X = "elementclass X { A(none) || $a | A(one $a) || input -> A(in) } "
    assert.equal("B@1 :: B; X@2/A@1 :: A(in); X@3/A@1 :: A(one z); X@4/A@1 :: A(none); "
      .. "B@1 -> X@2/A@1;", read(X .. "B -> X; X(z); X"))
    assert.equal("X@1/A@1 :: A(two); X@2/A@1 :: A(none);",
      read(X .. "elementclass X { $a, $b | A(two) || ... } X(1, 2); X"))
    assert.equal("f:1: no match for 'X[1 input, 1 output]'\n",
      read(X .. "B -> X -> B"):match("^.-\n"))
    assert.equal("A@1 :: A(3); A@2/B@1 :: B(4);",
      read("elementclass A { $x, $y | B($y) || ... } A(3); A(3, 4)"))
  end)

  it("say which port is wrong", function ()
    local X = "elementclass X { input -> A -> output }\n"
    assert.equal("f:2: 'x' has no input 1\n",
      read(X .. "B => x :: X -> B; B -> [1] x;"))
    assert.equal("f:2: 'x' input 0 unused\n", read(X .. "x :: X -> B;"))
    assert.equal("f:2: 'x' output 0 unused\n", read(X .. "B -> x :: X;"))
    assert.equal("f:2: 'x' has no output 1\n", read(X .. "B -> x::X -> B; x[1] -> B"))
    assert.equal("f:1: 'X' input 0 missing\n",
      read("elementclass X { input [1] -> A }"))
    assert.equal("f:1: 'X' pseudoelement 'input' may only be used as output\n",
      read("elementclass X { A -> input }"))
  end)

  it("refuse parameters that don't fit", function ()
    assert.equal("f:1: parameter '$a' multiply defined\n",
      read("elementclass X { $a, $a | A }"))
    assert.equal("f:1: repeated keyword parameter 'K' in compound element\n",
      read("elementclass X { K $a, K $b | A }"))
    assert.equal("f:1: compound element parameters out of order\n"
      .. "f:1: (The correct order is '[positional], [keywords], [__REST__]'.)\n",
      read("elementclass X { K $a, $b | A }"))
    assert.equal("f:1: expected variable", read("elementclass X { $a, A }"):match(
      "^[^\n]*"))
    assert.equal("f:1: cannot extend unknown element class 'X'\n",
      read("elementclass X { A || ... }"))
  end)

  it("are no deeper than can be", function ()
    local text = ("{"):rep(60) .. "A" .. ("}"):rep(60)
    assert.equal("f:1: maximum compound element nesting depth exceeded",
      read(text):match("^[^\n]*"))
    local _, lines = read(("{"):rep(20000)):gsub("\n", "")
    assert.is_true(lines < 60, lines)
    text = "A -> " .. ("(-> "):rep(60) .. "A" .. (")"):rep(60)
    assert.equal("f:1: maximum element group nesting depth exceeded",
      read(text):match("^[^\n]*"))
  end)
end)
