-- SPDX-License-Identifier: Apache-2.0
local errors = require("click.errors")
local flatfile = require("click.language.flatfile")
local language = require("click.language")

-- The flat configuration as text, or the messages. Names of classes begin with capital
-- letters, but for Unknown.
local function read(text, options)
  local e = errors.new()
  options = options or {}
  options.text, options.file, options.errors = text, options.file or "f", e
  if not options.any_class then
    options.class_of = function (name)
      return name:find("^%u%w*$") and name ~= "Unknown"
    end
  end
  local flat = language.read(options)
  return flat and flatfile.text(flat) or e:text(), flat
end

-- The connections alone, sorted: "a[1] -> b, c -> [2]d".
local function connections(text, options)
  local _, flat = read(text, options)
  if not flat then return (read(text, options)) end
  local list = {}
  for i, c in ipairs(flat.connections) do
    list[i] = ("%s%s -> %s%s"):format(flat.elements[c.from].name,
      c.output > 0 and "[" .. c.output .. "]" or "",
      c.input > 0 and "[" .. c.input .. "]" or "", flat.elements[c.to].name)
  end
  table.sort(list)
  return table.concat(list, ", ")
end

describe("click.language, elements", function ()
  it("are declared, alone and in chains", function ()
    assert.equal("a :: A;\nb :: B(1, 2);\nC@3 :: C( x);\n\na -> b\n    -> C@3;\n",
      (read("a :: A -> b :: B(1, 2) -> C( x);")))
    assert.equal("a :: A(x);\nb :: A(x);\nc :: A(x);\n\n", (read("a, b, c :: A(x);")))
    assert.equal("A@1 :: A;\n\n", (read("A")))
    assert.equal("", (read(" // nothing\n")))
  end)

  it("have names by their number, also beside such names", function ()
    assert.equal("A@1 :: A;\nb :: B;\nA@3 :: A;\n\n", (read("A; b :: B; A;")))
    assert.equal("A@3 :: A;\nA@2 :: A;\nA@4 :: A;\n\n",
      (read("A@3 :: A; A; A;")))
  end)

  it("say where they are", function ()
    local _, flat = read("a :: A;\n\nb\n :: B ->\n C;\n# 7 \"x.h\"\nd :: D;")
    local places = {}
    for i, element in ipairs(flat.elements) do places[i] = element.landmark end
    assert.same({"f:1", "f:3", "f:5", "x.h:7"}, places)
    assert.equal("f:4", flat.connections[1].landmark)
  end)

  it("must be declared once, with a class that is known", function ()
    for text, message in pairs{
      ["a;"] = "f:1: undeclared element 'a'\n",
      ["a;\na;\na :: B"] = "f:1: undeclared element 'a'\n"
        .. "f:3: class 'a' used as element name\n",
      ["a :: Unknown;"] = "f:1: unknown element class 'Unknown'\n",
      ["a :: A;\na :: B;"] = "f:2: redeclaration of element 'a'\n"
        .. "f:1: element 'a' previously declared here\n",
      ["A :: B;"] = "f:1: class 'A' used as element name\n",
      ["a/1 :: A;"] = "f:1: element name 'a/1' has all-digit component\n",
      ["a/1/b :: A;"] = "f:1: element name 'a/1/b' has all-digit component\n",
      ["A :: A;"] = "f:1: class 'A' used as element name\n",
      ["a :: ;"] = "f:1: missing element type in declaration\n",
      ["a :: A; a(3) -> A;"] =
        "f:1: configuration string ignored on element reference\n",
    } do assert.equal(message, (read(text)), text) end
  end)

  it("are suggested where a name is misspelt", function ()
    local function names() return {"Counter", "Print", "Paint"} end
    assert.equal("f:1: unknown element class 'Unknown'\n",
      (read("a :: Unknown", {class_names = names})))
    local e = errors.new()
    language.read{text = "cuonter :: Cuonter; countr -> Piint", file = "f", errors = e,
      class_of = function (name) return name == "Counter" end, class_names = names}
    assert.equal("f:1: unknown element class 'Cuonter'\n"
      .. "f:1:   did you mean 'Counter'?\nf:1: undeclared element 'countr'\n"
      .. "f:1:   did you mean 'Counter' or 'cuonter'?\n"
      .. "f:1: undeclared element 'Piint'\n"
      .. "f:1:   did you mean 'Paint' or 'Print'?\n", e:text())
  end)

  it("may be of any class if that is asked for", function ()
    assert.equal("a :: b;\nc@2 :: c;\n\na -> c@2;\n",
      (read("a :: b -> c;", {any_class = true})))
    assert.equal("f:1: class 'b' used as element name\n",
      (read("a :: b; b :: c;", {any_class = true})))
    assert.equal("f:1: class 'b' used as element name\n",
      (read("b :: b;", {any_class = true})))
    assert.equal("f:1: 'a' was previously used as an element name\n",
      (read("a :: b; c :: a;", {any_class = true})))
  end)
end)

describe("click.language, connections", function ()
  local FOUR = "a, b, c, d :: A; "
  local function connect(text) return connections(FOUR .. text) end

  it("go from ports to ports", function ()
    assert.equal("a -> b", connect("a -> b"))
    assert.equal("a[2] -> [1]b", connect("a [2] -> [0x1] b"))
    assert.equal("a -> b, b -> c", connect("a -> b -> c; a -> b;"))
    assert.equal("a[1] -> [3]b, b[2] -> c", connect("a [1] -> [3] b [2] -> c"))
  end)

  it("go from and to several", function ()
    assert.equal("a -> c, b -> c", connect("a, b -> c"))
    assert.equal("a -> b, a -> c", connect("a -> b, c"))
    assert.equal("a -> b, a[1] -> c", connect("a => b, c"))
    assert.equal("a -> c, b -> [1]c", connect("a, b => c"))
    assert.equal("a -> c, b -> d", connect("a, b => c, d"))
    assert.equal("a -> b, a[1] -> [1]b, a[2] -> [2]b", connect("a [0-2] => [0-2] b"))
    assert.equal("a -> c, a[1] -> d, a[3] -> [5]b", connect("a[0,1,3] => c, d, [5]b"))
    assert.equal("a -> b, a[1] -> c, a[2] -> d", connect("a [] => b, c, d"))
    assert.equal("a -> d, a[1] -> b, a[2] -> c", connect("a [0,] => d, b, c"))
    assert.equal("a[2] -> b, a[3] -> c, b -> d", connect("a [2,], b => b, c, d"))
  end)

  it("must fit", function ()
    for text, message in pairs{
      ["a[0,1] => [0,1,2] b"] = "connection mismatch: 2 outputs connected to 3 inputs",
      ["a[0,1,2,] => [0,1] b"] =
        "connection mismatch: 3 or more outputs connected to 2 inputs",
      ["a[0,1] => [0-2,] b"] =
        "connection mismatch: 2 outputs connected to 3 or more inputs",
      ["a[] => []b"] = "at most one expandable port allowed per connection",
      ["a[0,1] -> [0,1]b"] = "syntax error: many-to-many connections require '=>'",
      ["[1] a -> b"] = "input ports ignored at start of chain",
      ["a -> b [1]"] = "output ports ignored at end of chain",
      ["a [x] -> b"] = "syntax error: port number should be integer",
      ["a [1 -> b"] = "syntax error: expected ','\n"
        .. "f:1: syntax error: expected port number",
      ["a [70000] -> b"] = "syntax error: port number '70000' is too large",
    } do
      assert.equal("f:1: " .. message, connect(text):match("^(.-)\n?$"):sub(1,
        #message + 5), text)
    end
  end)

  it("may go by way of groups", function ()
    assert.equal("a -> b, a[1] -> c, a[2] -> d", connect("a => (-> b), (-> c), d;"))
    assert.equal("a -> b, b -> c, b -> d", connect("a -> (-> b -> output) -> c, d;"))
    assert.equal("a -> b", connect("a -> (input -> output) -> b;"))
    assert.equal("a -> b, a[1] -> c, b -> d, c -> [1]d",
      connect("a => (input -> b -> output; input [1] -> c -> [1] output) => d"))
    assert.equal("f:1: '<anonymous group>' input 0 missing\n",
      connect("a -> (input [1] -> b)"):match("^.-\n"))
    assert.equal("f:1: '@5' has no input 1\n",
      connect("a -> [1] (-> b)"):match("^.-\n"))
    assert.equal("f:1: expected ')'\n", connect("a -> (-> b;"))
  end)
end)

describe("click.language, syntax errors", function ()
  it("are reported, all of them", function ()
    assert.equal("f:1: syntax error near '->'\nf:2: expected '('\n"
      .. "f:2: syntax error near '$a'\n", (read("-> A;\ndefine $a")))
    for text, message in pairs{
      ["A ->"] = "syntax error near end of file", ["A -> ;"] = "syntax error near ';'",
      ["A(x"] = "expected ')'", ["}"] = "syntax error near '}'",
      ["elementclass { A }"] = "expected element type name",
      ["elementclass X;"] = "syntax error near ';'",
      ["elementclass X { A"] = "expected '}'",
      ["define(x 3)"] = "bad 'define' declaration: not a variable",
      ["define($x 3, $x 4)"] = "parameter '$x' multiply defined",
      ["A ~/> B"] = "unknown context link '~/>'",
      ["A ~ B"] = "syntax error near '~'",
      ["provide(x)"] = "syntax error near 'provide'",
      ["a :: B :: C"] = "syntax error near '::'",
      ["a, A -> 3 ] B"] = "undeclared element 'a'",
    } do
      assert.equal("f:1: " .. message, read(text):match("^[^\n]*"), text)
    end
  end)
end)

describe("click.language, variables", function ()
  it("are defined in files, and from outside", function ()
    assert.equal("A@1 :: A(1 2);\n\n", (read("A($x $y); define($y 2, $x 1)")))
    assert.equal("A@1 :: A(7 8);\n\n",
      (read("A($x $y) define($x 1, $y $z)", {variables = {x = "7", z = "8"}})))
    assert.equal("A@1 :: A($x, 3, '$x');\n\n", (read("A($x, ${y-3}, '$x')")))
  end)

  it("stay if that is asked for", function ()
    local _, flat = read("define($x 1) A($x, ${x-2})", {keep_variables = true})
    assert.equal("define($x 1);\n\nA@1 :: A($x, $x);\n\n",
      flatfile.text(flat, {defines = true}))
  end)
end)

describe("click.language, requirements", function ()
  it("are kept, and checked", function ()
    assert.equal('require(package "x", compact_config);\n\n',
      (read("require(x) require(compact_config);", {packages = {x = true}})))
    assert.equal("f:1: requirement 'y' not available\n",
      (read("require(package y)", {packages = {x = true}})))
    assert.equal("f:1: syntax error at requirement\n", (read("require(a b c)")))
    local _, flat = read("A")
    assert.equal("A", flat.source)
    _, flat = read("require(compact_config) A")
    assert.is_nil(flat.source)
  end)

  it("read libraries, once, from the folder of who asks", function ()
    local dir = os.tmpname()
    os.remove(dir)
    assert(require("posix.sys.stat").mkdir(dir))
    local function write(name, text)
      local file = assert(io.open(dir .. "/" .. name, "w"))
      file:write(text)
      file:close()
    end
    write("lib", "elementclass X { A }\nx1 :: X; require(library lib)")
    assert.equal("x2 :: B;\nx1/A@1 :: A;\n\n", (read("require(library lib)\nx2 :: B;",
      {file = dir .. "/main"})))
    write("bad", "\nnope;")
    assert.equal(dir .. "/bad:2: undeclared element 'nope'\n",
      (read("require(library bad)", {file = dir .. "/main"})))
    os.execute("rm -r " .. dir)
    assert.equal("f:1: library 'lib' not found in CLICKPATH/conf\n",
      (read("require(library lib)")))
  end)
end)

describe("click.language, what it writes", function ()
  it("is read as the same again", function ()
    local text = read([[
      elementclass F { $a | input => (-> b :: B($a) ->), C => output }
      a :: A; a [0,1] => F("x y") => [0,1] d :: D -> a; E -> [2] d;]])
    assert.equal(text, (read(text)))
    assert.is_true(#text > 50)
  end)

  it("has # lines if that is asked for", function ()
    local _, flat = read("a :: A\n -> B")
    assert.equal('# 1 "f"\na :: A;\n# 2 "f"\nB@2 :: B;\n# 6 ""\na -> B@2;\n',
      flatfile.text(flat, {lines = true}))
  end)

  it("has circles and what leads into them", function ()
    assert.equal("a :: A;\nb :: A;\nc :: A;\n\nc -> a\n    -> b\n    -> a;\n",
      (read("a, b, c :: A; a -> b -> a; c -> a")))
    assert.equal("a :: A;\nb :: A;\n\nb -> a\n    -> b;\n", (read(
      "a, b :: A; a -> b -> a")))
  end)
end)

describe("click.language, context links", function ()
  local D = "context_flowcontextdispatcher_0"

  it("are a dispatcher, with an output for each link", function ()
    assert.equal(("a -> %s, c -> b, %s -> b, %s[1] -> [1]c"):format(D, D, D),
      connections("a :: A; b :: B; a ~> b; a ~> [1] c :: C -> b"))
    local text = read("a :: A ~> B; a ~> C")
    assert.matches(D .. " :: FlowContextDispatcher(- 0, - 1);", text, 1, true)
  end)

  it("go through compounds, and have an element on the way", function ()
    assert.equal("a -> " .. D .. ", " .. D .. " -> c/b",
      connections("elementclass X { input ~> b :: B }; a :: A -> c :: X"))
    assert.equal(("a -> %s, %s -> context_stack_0, context_stack_0 -> b"):format(D, D),
      connections("a :: A ~/tcp> b :: B"))
    assert.matches("context_stack_0 :: TCPOut;", (read("A ~/tcp> B")), 1, true)
  end)

  it("must have an element class for what is on the way", function ()
    local e = errors.new()
    assert.is_nil(language.read{text = "A ~x> B", file = "f", errors = e,
      class_of = function (name) return #name == 1 end})
    assert.equal("f:1: unknown context link '~x>': there is no element class 'XIn'\n",
      e:text())
  end)
end)
