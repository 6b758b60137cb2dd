-- SPDX-License-Identifier: Apache-2.0
-- What the examples of elements print. Those with ports, sockets or messages of the
-- configuration itself run in test/test_click_pages.py. And each keyword that a class
-- looks for then is on its page.

local arguments = require("click.arguments")
local click_router = require("testing.click_router")
local examples = require("click.pages.examples")
local families = require("click.pages.families")
local registry = require("click.registry")

local ELSEWHERE = {devices = true, apps = true, control = true}
local ELSEWHERE_TOO = {Error = true, Message = true}

local MOST_TURNS = 1e6 -- until an example has ended

-- The keywords that classes look for, by their names, as far as `f` makes them do that.
local function keywords_while(f)
  local reader = getmetatable(arguments.reader({}, {})).__index
  local read, seen = reader.read, {}
  function reader.read(self, spec)
    local class = self.element and self.element.class
    if class and spec.keyword then
      seen[class.name] = seen[class.name] or {}
      seen[class.name][spec[1]] = true
    end
    return read(self, spec)
  end
  local results = {pcall(f)}
  reader.read = read
  assert(results[1], results[2])
  return seen, results[2]
end

local function check_pages(seen)
  for name, keywords in pairs(seen) do
    local page = families.explain(name)
    for keyword in pairs(keywords) do
      assert.matches("\n  " .. keyword .. " +%l+", page)
    end
  end
end

-- All that the configuration prints, as a terminal would show it.
local function printed_by(text)
  local said, out, err = {}, io.stdout, io.stderr
  local function say(...)
    for i = 1, select("#", ...) do said[#said + 1] = tostring((select(i, ...))) end
  end
  local stand_in = {write = function (_, ...) say(...) end, flush = function () end}
  io.stdout, io.stderr = stand_in, stand_in -- luacheck: ignore 122
  local ok, r = pcall(function ()
    local r = assert(click_router.make(text))
    r.say = function (_, line) say(line, "\n") end
    for _ = 1, MOST_TURNS do
      if r:has_ended() then break end
      r:turn()
    end
    return r
  end)
  io.stdout, io.stderr = out, err -- luacheck: ignore 122
  assert(ok, r)
  local ended = r:has_ended()
  r:close()
  assert(ended, "it doesn't end by itself")
  return (table.concat(said):gsub(" +\n", "\n"))
end

describe("The examples of elements", function ()
  it("are there for each class, and for nothing else", function ()
    local missing, without_class = {}, {}
    for _, class in ipairs(registry.list()) do
      local example = examples.of(class)
      if not example or not example.text then missing[#missing + 1] = class.name end
    end
    assert.same({}, missing)
    for _, family in ipairs(families.list()) do
      for name in pairs(examples.family(family.name)) do
        local class = registry.find(name)
        if not class or registry.family(class) ~= family.name then
          without_class[#without_class + 1] = name
        end
      end
    end
    assert.same({}, without_class)
  end)

  it("have the element in them", function ()
    for _, class in ipairs(registry.list()) do
      assert.matches("%f[%w]" .. class.name .. "%f[^%w]", examples.of(class).text)
    end
  end)

  it("are refused where a line is neither a name nor indented", function ()
    assert.same({A = {text = "x\n", prints = "1\n"}},
      examples.parse("A\n    x\n  prints\n    1\n\n"))
    assert.has_error(function () examples.parse("A\n  x\n") end)
  end)

  for _, family in ipairs(families.list()) do
    if not ELSEWHERE[family.name] then
      it("print what their pages say: " .. family.name, function ()
        for _, class in ipairs(family.classes) do
          if not ELSEWHERE_TOO[class.name] then
            local example = examples.of(class)
            local seen, printed = keywords_while(function ()
              local ok, result = pcall(printed_by, example.text)
              return ok and result or error(class.name .. ": " .. tostring(result))
            end)
            assert.equal(example.prints or "", printed, class.name)
            check_pages(seen)
          end
        end
      end)
    end
  end
end)
