-- SPDX-License-Identifier: Apache-2.0

local cjson = require("cjson").new()
local json = require("lib.json")

local SEED = os.time()
local random = math.random
cjson.decode_max_depth(400)

local function random_text()
  local bytes = {}
  for i = 1, random(0, 12) do bytes[i] = string.char(random(0, 127)) end
  return table.concat(bytes) .. (random(3) == 1 and "\\ä€\226\130\172" or "")
end

local function random_value(depth)
  local kind = random(depth > 4 and 3 or 5)
  if kind == 1 then return random_text() end
  if kind == 2 then return random(2) == 1 end
  if kind == 3 then return (random() - 0.5) * 10 ^ random(-5, 12) end
  local t = {}
  for i = 1, random(5) do
    t[kind == 4 and i or random_text() .. "x"] = random_value(depth + 1)
  end
  return t
end

-- cjson's null is nil here.
local function without_null(value)
  if value == require("cjson").null then return nil end
  if type(value) ~= "table" then return value end
  local t = {}
  for k, v in pairs(value) do t[k] = without_null(v) end
  return t
end

describe("lib.json", function ()
  it("reads values", function ()
    for text, value in pairs{
      ["1"] = 1, ["-0.5e2"] = -50, ["true"] = true, ["false"] = false, ['""'] = "",
      ['"a\\n\\u00e4\\ud83d\\ude00"'] = "a\n\195\164\240\159\152\128",
      ["'it\"s'"] = 'it"s', [" /* one */ 2 "] = 2,
    } do assert.equal(value, (json.decode(text))) end
    assert.is_nil((json.decode("null")))
    assert.same({1, {a = {}, b = false}, "x"},
      (json.decode('[1, {"a": [], "b": false, "c": null} , /* */ "x"]')))
  end)

  it("tells where the value ends, and begins where it is told to", function ()
    assert.same({{}, 4}, {json.decode(" {} x")})
    assert.same({12, 5}, {json.decode("x 12,", 3)})
    assert.equal(json.null, json.null())
  end)

  it("says what is wrong, and where", function ()
    for text, pattern in pairs{
      [""] = "byte 1: a value is missing", ["[1,"] = "byte 4: a value is missing",
      ["[1 2]"] = "byte 4: ',' or ']' is missing",
      ["\n{1:2}"] = "line 2, byte 3: a key",
      ['{"a" 1}'] = "':' is missing", ['"\\x"'] = "no such escape", ["'a"] = "no end",
      ["/* a"] = "comment has no end", ["nil"] = "no value", ["-"] = "no number",
      ["1e+"] = "no number", ['"\\ud800x"'] = "surrogate", ["[1,]"] = "no value",
      [("["):rep(1000)] = "more than 500",
    } do
      local ok, err = pcall(json.decode, text)
      assert.is_false(ok, text)
      assert.matches(pattern, err, 1, true)
    end
  end)

  it("reads what cjson writes #slow", function ()
    math.randomseed(SEED)
    for _ = 1, 2000 do
      local text = cjson.encode(random_value(0))
      local value, after = json.decode(text)
      assert.same(cjson.decode(text), value, SEED)
      assert.equal(#text + 1, after)
    end
  end)

  it("reads mutated texts as cjson does, or refuses them #slow", function ()
    math.randomseed(SEED)
    local both, refused = 0, 0
    for _ = 1, 10000 do
      local text = cjson.encode(random_value(0))
      local at = random(#text)
      text = text:sub(1, at - 1) .. string.char(random(32, 126))
        .. text:sub(at + random(0, 1))
      local ok, value, after = pcall(json.decode, text)
      local theirs, expected = pcall(cjson.decode, text)
      if not ok then
        refused = refused + 1
        assert.is_string(value)
      elseif theirs and not text:find("[iIxX]") and after == #text + 1 then
        both = both + 1
        assert.same({without_null(expected)}, {value}, text)
      end
    end
    assert.is_true(both > 500 and refused > 500, both .. " " .. refused)
  end)
end)
