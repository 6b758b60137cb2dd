-- SPDX-License-Identifier: Apache-2.0
local options = require("program.click.options")

local SPECS = {
  {names = {"file"}, letter = "f", value = "FILE", field = "file", once = "router",
    help = "a file"},
  {names = {"expression"}, letter = "e", value = "EXPR", field = "file",
    also = "expression", once = "router", help = "a text"},
  {names = {"quit"}, letter = "q", field = "quit", help = "stop"},
  {names = {"output", "out"}, letter = "o", value = "FILE", field = "output",
    help = "where"},
  {names = {"handler"}, letter = "h", value = "H", field = "handlers", list = true,
    help = "read"},
  {names = {"help"}, field = "help", help = "this"},
  {names = {"time"}, value = "T", field = "time", optional = true, number = true,
    help = "when"},
  {names = {"words"}, field = "words", up_to = "--", help = "some words"},
  {names = {"silent"}, letter = "s", field = "loud", off = true, help = "no noise"},
}

local function parse(...)
  local result, problem = options.parse(SPECS, {...})
  if not result then return problem end
  if next(result.variables) == nil then result.variables = nil end
  return result
end

describe("Click's command lines", function ()
  it("have short options in one word", function ()
    assert.same({quit = true, output = "-"}, parse("-qo-"))
    assert.same({quit = true, file = "a -> b", expression = true},
      parse("-qe", "a -> b"))
    assert.same({handlers = {"a.b", "c"}, quit = true}, parse("-ha.b", "-qh", "c"))
    assert.same({loud = false}, parse("-s"))
  end)

  it("have long ones, with = or a word behind", function ()
    assert.same({output = "x"}, parse("--output=x"))
    assert.same({output = "x"}, parse("--out", "x"))
    assert.same({time = true, file = "f"}, parse("--time", "f"))
    assert.same({time = 1.5}, parse("--time=1.5"))
    assert.same({quit = true}, parse("--q"))
    assert.same({loud = false}, parse("--silent"))
  end)

  it("have a file, and variables", function ()
    assert.same({file = "-", variables = {A = "1", b_2 = ""}},
      parse("A=1", "-", "b_2="))
    assert.same({file = "a/b=c"}, parse("a/b=c"))
    assert.same({file = "-q"}, parse("--", "-q"))
  end)

  it("have options with all words up to one", function ()
    assert.same({words = {"-q", "x"}, file = "y", quit = true},
      parse("--words", "-q", "x", "--", "-q", "y"))
    assert.same({words = {}}, parse("--words"))
  end)

  it("are refused in a sentence", function ()
    assert.equal("unrecognized option '-z'", parse("-qz"))
    assert.equal("unrecognized option '--zoo'", parse("--zoo=1"))
    assert.equal("option '--h' is ambiguous", parse("--h"))
    assert.equal("'-o' requires an argument", parse("-o"))
    assert.equal("'--output' requires an argument", parse("--output"))
    assert.equal("'--quit' can't have an argument", parse("--quit=1"))
    assert.equal("'--time' expects a number, not 'x'", parse("--time=x"))
    assert.equal("router specified twice", parse("a", "b"))
    assert.equal("router specified twice", parse("-e", "a", "b"))
    assert.equal("parameter 'A' multiply defined", parse("A=1", "A=2"))
  end)

  it("are explained", function ()
    assert.equal("  -f, --file FILE              a file\n",
      options.help(SPECS):match("^.-\n"))
    assert.truthy(options.help(SPECS):find("      --time[=T]               when\n", 1,
      true))
  end)
end)
