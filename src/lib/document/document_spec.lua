-- SPDX-License-Identifier: Apache-2.0

local document = require("lib.document.document")

-- The node as Lua values.
local function plain(n)
  if n.list then
    local list = {}
    for i, child in ipairs(n.list) do list[i] = plain(child) end
    return list
  elseif n.map then
    local map = {}
    for key, child in pairs(n.map) do map[key] = plain(child) end
    return map
  end
  return n.value
end

local function read(path, text) return plain(document.parse(path, text)) end

local function refused(path, text)
  local ok, err = pcall(document.parse, path, text)
  assert.is_false(ok, text)
  assert.equal(2, err.status)
  return tostring(err)
end

describe("A document", function ()
  it("is JSON or YAML by its name", function ()
    for path, is in pairs{["a.json"] = true, ["b/a.yaml"] = true, ["a.yml"] = true,
        ["a.lua"] = false, a = false, [".json/a"] = false} do
      assert.equal(is, document.is_one(path))
    end
    assert.equal("a.yml", document.first_of{"a.yml", "b"})
    assert.is_nil(document.first_of{"a.lua", "b.json"})
    assert.equal("b.json", document.first_of{"--watch", "1", "b.json"})
  end)

  it("in JSON is what RFC 8259 says", function ()
    assert.same({a = {1, -2.5e3, "x", true, false, {}}, b = {}, [""] = 0},
      read("a.json", '{"a": [1,-2.5E+3,"x",true,false,{}],"b":[], "" :0}\r\n'))
    assert.equal('\n\t"\\/\b\f\r\127', read("a.json", [["\n\t\"\\\/\b\f\r]] .. '\127"'))
    assert.equal("\195\169 \226\130\172 \240\159\152\128",
      read("a.json", [["\u00e9 \u20AC \ud83d\ude00"]]))
    assert.is_nil(read("a.json", " null "))
    assert.equal(7, read("a.json", "\239\187\1917"))
  end)

  it("in YAML is what YAML 1.2's core schema says", function ()
    assert.same({a = {1, -2.5e3, "x", true, "no"}, b = "12:30", c = 16, d = "0o7",
        e = "1.2.3.4", f = "1", g = "null", [42] = 10, s = "a\nb\n"},
      read("a.yaml", "a: [1, -2.5E+3, x, true, no]\nb: 12:30\nc: 0x10\nd: 0o7\n"
        .. "e: 1.2.3.4\nf: '1'\ng: \"null\"\nh: ~\ni:\n42: 10\ns: |\n  a\n  b\n"))
    assert.same({a = {1, 2}, b = {1, 2}}, read("a.yaml", "a: &x [1, 2]\nb: *x\n"))
    assert.same({a = {b = "c"}}, read("a.yaml", '{"a":{"b":"c"}}'))
  end)

  it("knows the lines of its nodes", function ()
    for path, text in pairs{["a.json"] = '{\n"a":\n[1,\n\n2]}',
        ["a.yaml"] = "\na: [1,\n\n 2]"} do
      local a = document.parse(path, text)
      assert.same({{key = "a", line = 2}}, a.keys)
      assert.equal(3 + (path == "a.json" and 2 or 1), a.map.a.list[2].line)
    end
  end)

  it("that is wrong gets one sentence with the line #slow", function ()
    for text, sentence in pairs{
      [""] = "a.json:1: a value was expected, not the end of the file",
      ['{"a":1,\n"a":2}'] = "a.json:2: the key 'a' is here twice; first in line 1",
      ["[1,]"] = "a.json:1: a value was expected, not ']'",
      ["[01]"] = "a.json:1: a value was expected, not '01'",
      ["[1.]"] = "a.json:1: a value was expected, not '1.'",
      ["[1e999]"] = "a.json:1: '1e999' is no number that there can be here",
      ["[1e-400]"] = "a.json:1: '1e-400' is no number that there can be here",
      ['["\n"]'] = 'a.json:1: a string isn\'t closed in its line: "',
      [ [["\ud800x"]] ] = "a.json:1: behind \\ud800 the second half of the character "
        .. "is missing",
      [ [["\u12"]] ] = "a.json:1: \\u12 stands for no character",
      [ [["\u0000"]] ] = "a.json:1: '?' has a NUL in it",
      ["[1]\n]"] = "a.json:2: the end was expected, not ']'",
      ["\n\255"] = "a.json:2: this is no text (UTF-8)",
      ["1\0"] = "a.json:1: this is no text (UTF-8)",
      [("["):rep(1e6)] = "a.json:1: this is nested more than 40 deep",
    } do
      assert.equal(sentence, refused("a.json", text))
    end
    for text, sentence in pairs{
      ["# x\n"] = "a.yaml:2: there is nothing in it",
      ["a: 1\na: 2"] = "a.yaml:2: the key 'a' is here twice; first in line 1",
      ["a: [1"] = "a.yaml:2: this is no YAML: did not find expected ',' or ']'",
      ["a: &x [*x]"] = "a.yaml:1: *x stands for nothing before it, or for itself",
      ["--- a\n--- b"] = "a.yaml:2: there is a second document; one is taken",
      ["a: !!int x"] = "a.yaml:1: the tag 'tag:yaml.org,2002:int' isn't taken here",
      ["? [a]\n: b"] = "a.yaml:1: a key is a word or a number",
      ['a: "b\\0c"'] = "a.yaml:1: 'b' has a NUL in it",
      ['x: 1\ra: "b\\0c"'] = "a.yaml:2: 'b' has a NUL in it",
      ['x: 1\226\128\168\r\na: "b\\0c"'] = "a.yaml:3: 'b' has a NUL in it",
      [("- "):rep(1e5)] = "a.yaml:1: this is nested more than 40 deep",
    } do
      assert.equal(sentence, refused("a.yaml", text))
    end
  end)

  it("repeats no alias without end", function ()
    local lines = {"a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"}
    for i = 1, 9 do
      local aliases = ("*a%d, "):format(i - 1):rep(10)
      lines[i + 1] = ("a%d: &a%d [%s]"):format(i, i, aliases)
    end
    assert.matches("this has more than 200000 values",
      refused("a.yaml", table.concat(lines, "\n")))
  end)

  it("takes no longer by line the more lines it has #slow", function ()
    local function seconds(lines)
      local text = '- "\\x41"\n' .. ('- "b"\n'):rep(lines)
      local began = os.clock()
      assert.equal(lines + 1, #document.parse("a.yaml", text).list)
      return os.clock() - began
    end
    assert.is_true(seconds(30000) < 50 * (seconds(3000) + 0.01)) -- 10; it was 100
  end)

  it("of any bytes raises nothing but failures #slow", function ()
    math.randomseed(11)
    local whole = 'a: &x [1, "b\\n", {c: *x}]\n"d": | \n  e\n'
      .. '--- {"f":\t[1e3, "\\u00e9"]}'
    for _ = 1, 2000 do
      local bytes = {}
      local at, size = math.random(#whole), math.random(0, 30)
      for i = 1, size do
        local kept = math.random() < 0.9
        bytes[i] = kept and whole:sub((at + i) % #whole + 1, (at + i) % #whole + 1)
          or string.char(math.random(0, 255))
      end
      for _, path in ipairs{"a.json", "a.yaml"} do
        local ok, err = pcall(document.parse, path, table.concat(bytes))
        assert.is_true(ok or err.status == 2 and not tostring(err):find("\n"),
          tostring(err))
      end
    end
  end)
end)
