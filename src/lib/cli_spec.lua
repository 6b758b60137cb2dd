-- SPDX-License-Identifier: Apache-2.0
-- Command line parsing: values, and the sentences of errors.

local cli = require("lib.cli")

local sentence = require("testing.support").usage_error

local function example()
  local parser = cli.parser("blast", "Send packets.")
  parser:argument("port", "The port.")
  parser:option("-r --rate", "Packets a second."):convert(cli.rate)
  parser:option("-D --duration", "Seconds."):convert(cli.duration)
  return parser
end

describe("cli.parse", function()
  it("returns arguments and converted options", function()
    local args = cli.parse(example(), {"null", "-r", "10k", "--duration", "2m"})
    assert.same({port = "null", rate = 10000, duration = 120}, args)
  end)

  it("says which option is unknown and where to look", function()
    local said = sentence(cli.parse, example(), {"null", "--fast"})
    assert.matches("unknown option '%-%-fast'", said)
    assert.matches("see `perigee blast %-%-help`$", said)
  end)

  it("says which argument is missing", function()
    assert.matches("missing argument 'port'", sentence(cli.parse, example(), {}))
  end)

  it("says which word is too much", function()
    local words = {"null", "--rate", "1k", "more", "else"}
    assert.matches("^too many arguments: nothing takes 'more'; see ",
      sentence(cli.parse, example(), words))
  end)

  it("names the option whose value is wrong", function()
    local parser = example()
    local args = {"null", "--rate", "fast"}
    local expected = "^%-%-rate: 'fast' isn't a rate such as 1500, 10k or 1M, of bits "
      .. "a second; see "
    assert.matches(expected, sentence(cli.parse, parser, args))
    assert.matches(expected, sentence(cli.parse, parser, args))
  end)

  it("names the option of a command", function()
    local parser = cli.parser("x")
    parser:command("go"):option("--n"):convert(cli.integer(1, 4))
    local said = sentence(cli.parse, parser, {"go", "--n", "5"})
    assert.matches("^%-%-n: '5' isn't a whole number from 1 to 4; ", said)
    assert.matches("see `perigee x %-%-help`$", said)
  end)

  it("prints the usage and exits with status 0 for -h", function()
    local real_exit, real_print, status, text = os.exit, print, nil, nil
    os.exit = function(code) status = code; error("exit", 0) end -- luacheck: ignore
    _G.print = function(s) text = s end
    pcall(cli.parse, example(), {"-h"})
    os.exit, _G.print = real_exit, real_print -- luacheck: ignore
    assert.equal(0, status)
    assert.matches("^Usage: perigee blast", text)
    assert.matches("Send packets.", text, 1, true)
  end)
end)

describe("converters", function()
  local function takes(convert, cases)
    for text, expected in pairs(cases) do
      assert.near(expected, convert(text) or error("refused " .. text), 1e-9)
    end
  end
  local function refuses(convert, ...)
    for _, text in ipairs {...} do
      local value, problem = convert(text)
      assert.is_nil(value, text)
      assert.truthy(problem:find("'" .. text .. "'", 1, true))
    end
  end

  it("count", function()
    takes(cli.count, {["0"] = 0, ["1500"] = 1500, ["10k"] = 10000, ["1.5M"] = 1500000,
      ["2G"] = 2e9, ["1e6"] = 1e6})
    refuses(cli.count, "", "-1", "1.5", "k", "10x", "0x10", "inf", "nan", "1e99", "--5")
  end)

  it("duration", function()
    takes(cli.duration, {["10"] = 10, ["0.5"] = 0.5, [".5"] = 0.5, ["500ms"] = 0.5,
      ["2m"] = 120, ["1h"] = 3600, ["3 s"] = 3, ["0"] = 0})
    refuses(cli.duration, "", "-1", "1d", "nan", "inf", "ms")
  end)

  it("positive_number", function()
    takes(cli.positive_number, {["1"] = 1, ["0.25"] = 0.25, ["1e-3"] = 0.001})
    refuses(cli.positive_number, "0", "-1", "x", "inf", "1e999", "1e-400", "")
  end)

  it("one of some words", function()
    local one_of = cli.one_of("a", "b-c", "d")
    assert.same({"a", "b-c", "d"}, {one_of("a"), one_of("b-c"), one_of("d")})
    assert.same({nil, "'e' isn't a, b-c or d"}, {one_of("e")})
  end)

  it("number and integer with bounds", function()
    takes(cli.number(0, 1), {["0"] = 0, ["0e-400"] = 0, ["0.5"] = 0.5, ["1"] = 1})
    refuses(cli.number(0, 1), "-0.1", "1.1", "", "1e-400", "-0.1e-400")
    takes(cli.integer(-2), {["-2"] = -2, ["7"] = 7})
    refuses(cli.integer(-2), "-3", "1.5")
    local _, problem = cli.integer(-2)("-3")
    assert.equal("'-3' isn't a whole number of at least -2", problem)
    takes(cli.integer(), {["12"] = 12})
  end)
end)

describe("cli.split", function()
  it("parts a program's own options from the program it runs", function()
    local own, rest = cli.split({"-q", "--time", "3", "echo", "--time", "-q"},
                                {["--time"] = true})
    assert.same({"-q", "--time", "3"}, own)
    assert.same({"echo", "--time", "-q"}, rest)
  end)

  it("takes what there is", function()
    assert.same({{}, {"echo"}}, {cli.split({"echo"}, {})})
    assert.same({{"-q"}, {}}, {cli.split({"-q"}, {})})
    assert.same({{"--time"}, {}}, {cli.split({"--time"}, {["--time"] = true})})
  end)
end)

describe("the options of many programs", function ()
  it("count packets by -c and --count, and by an old name", function ()
    for _, word in ipairs{"-c", "--count", "--limit"} do
      local p = cli.parser("x", "")
      cli.count_option(p, "Stop after N packets.", "--limit")
      assert.same({count = 1500}, cli.parse(p, {word, "1.5k"}))
    end
  end)

  it("are a line each in the help, without old names", function ()
    local p = cli.parser("x", "")
    cli.count_option(p, "Stop after N packets.", "--limit")
    cli.duration_option(p, "End (default 5)."):default("5")
    assert.matches("   %-h, %-%-help            Show this help message and exit.\n"
      .. "   %-c, %-%-count N         Stop after N packets.\n"
      .. "   %-D, %-%-duration TIME   End %(default 5%).$", p:get_help())
  end)
end)
