-- SPDX-License-Identifier: Apache-2.0

local buffer = require("string.buffer")
local calls = require("lib.leader.calls")
local syntax = require("lib.leader.syntax")

local function quoted(text)
  local out = buffer.new()
  syntax.put(out, text)
  return out:tostring()
end

describe("statements", function ()
  it("are read with comments, quotes and blocks", function ()
    assert.same({{name = "a", value = "b c"}, {name = "d", block = {
      {name = "e", value = "/x[y=1]/z"}, {name = "f"}}},
      {name = "g", value = "1\n\t\"\\"}}, syntax.read([[
      a 'b' + " c"; // one
      d { /* two
      */ e /x[y=1]/z; f; } g "1\n\t\"\\";]]))
    assert.same({}, syntax.read(" // nothing"))
  end)

  it("are quoted as they are read", function ()
    for _, text in ipairs{"a", "", "a b", 'a"b', "\\", "\\n\n\t\"", "//", "a;", "'",
      " \0\n\0", "\0", '"'} do
      assert.same({{name = "x", value = text}},
        syntax.read("x " .. quoted(text) .. ";"))
    end
    assert.equal('"1\\n\\t\\"\\\\2"', quoted('1\n\t"\\2'))
  end)

  it("are read in a time that goes with their length, however many quotes", function ()
    local function seconds(text)
      local least = math.huge
      for _ = 1, 5 do -- what else the process does is in some of them
        local began = os.clock()
        syntax.read(text)
        least = math.min(least, os.clock() - began)
      end
      return least
    end
    local quotes, text = ('x "ab";\n'):rep(4000), "y '" .. ("z"):rep(4e6) .. "';"
    local apart = seconds(quotes) + seconds(text)
    assert.is_true(seconds(quotes .. text) < 10 * apart) -- it was a hundred times
  end)

  it("are refused in a sentence", function ()
    for text, said in pairs{
      ["a 'b"] = "a quote doesn't end", ["/* a"] = "a comment doesn't end",
      ["a b"] = "';' or '{' is missing behind a", ["a {"] = "'}' is missing behind a",
      ["}"] = "there is a '}' too many", [";"] = "';' is where a word should be",
    } do
      local ok, err = pcall(syntax.read, text)
      assert.same({false, said}, {ok, tostring(err)})
    end
  end)

  it("take any text without harm", function ()
    math.randomseed(5)
    local signs = "{};\"'/*+ \n\\ax"
    for _ = 1, 3000 do
      local text = {}
      for i = 1, math.random(12) do
        local n = math.random(#signs)
        text[i] = signs:sub(n, n)
      end
      local ok, err = pcall(syntax.read, table.concat(text))
      assert(ok or tostring(err):match("^[%w%p ]+$"), err)
    end
  end)
end)

describe("calls", function ()
  it("are written and read", function ()
    local text = calls.write("get-config",
      {schema = "a-b", config = "x {\n y 1; }", list = {"1", "2"}, on = true,
       pair = {{a = "1", b = {"2", "3"}}}})
    local call = calls.read(text .. calls.write("describe", {}))
    assert.equal("get-config", call[1].name)
    assert.same({schema = "a-b", config = "x {\n y 1; }", list = "2", on = "true",
      pair = {a = "1", b = "3"}}, call[1].fields)
    assert.same({"1", "2"}, call[1].lists.list)
    assert.same({name = "describe", fields = {}, lists = {}}, call[2])
  end)

  it("have long values in pieces", function ()
    local piece = ('a "b"\n'):rep(100000)
    local pieces = calls.pieces("get-config", {config = function (put)
      for _ = 1, 5 do put(piece) end
    end})
    assert.is_true(#pieces > 2)
    assert.equal(piece:rep(5), calls.read(table.concat(pieces))[1].fields.config)
  end)

  it("come in frames, however they are cut", function ()
    local bytes = calls.frame("hello") .. calls.frame("") .. calls.frame("a\nb")
    local frames, found = calls.frames(), {}
    for i = 1, #bytes do
      frames:add(bytes:sub(i, i))
      local text = frames:next()
      found[#found + 1] = text
    end
    assert.same({"hello", "", "a\nb"}, found)
    frames:add(bytes)
    assert.same({"hello", "", "a\nb"}, {frames:next(), frames:next(), frames:next()})
    for _, wrong in ipairs{"x", "\n", "-1\n", "12345678901\n", "1 \n"} do
      frames = calls.frames()
      frames:add(wrong)
      assert.has_error(function () frames:next() end)
    end
  end)
end)
