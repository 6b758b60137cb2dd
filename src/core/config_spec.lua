-- SPDX-License-Identifier: Apache-2.0

local config = require("core.config")
local failure = require("core.failure")

local function refused(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.is_true(failure.is(err), tostring(err))
  return tostring(err)
end

local Plain = {new = function () return {} end}
local Checked = {new = Plain.new, config = {
  size = {required = true}, name = {default = "x"},
}}

describe("config.app", function ()
  it("adds an app with its class and argument", function ()
    local c = config.new()
    assert.same({apps = {}, links = {}}, c)
    local arg = {1, 2}
    config.app(c, "a_1", Plain, arg)
    assert.equal(Plain, c.apps.a_1.class)
    assert.equal(arg, c.apps.a_1.arg)
  end)

  it("completes the argument of a class with `config`, or refuses it", function ()
    local c = config.new()
    config.app(c, "a", Checked, {size = 3})
    assert.same({size = 3, name = "x"}, c.apps.a.arg)
    config.app(c, "a", Checked, "{size = 1 + 1, name = 'y'}")
    assert.same({size = 2, name = "y"}, c.apps.a.arg)
    -- In Snabb's words.
    assert.matches("^failed to configure 'a': missing required parameter 'size';",
      refused(config.app, c, "a", Checked, {}))
    assert.matches("^failed to configure 'a': unrecognized parameter 'colour';",
      refused(config.app, c, "a", Checked, {size = 1, colour = "red"}))
    assert.matches("^unrecognized parameter 'colour';", refused(config.parse_app_arg,
      {size = 1, colour = "red"}, Checked.config))
    assert.matches("^app 'a': its argument isn't a Lua expression: {size =",
      refused(config.app, c, "a", Checked, "{size ="))
    assert.same({size = 2, name = "y"}, c.apps.a.arg)
  end)

  it("gives strings to a class without `config` as they are", function ()
    local c = config.new()
    config.app(c, "a", Plain, "{")
    assert.equal("{", c.apps.a.arg)
  end)

  it("refuses names that no link could have", function ()
    for _, name in ipairs{"", "a b", "a.b", "a-b", "ü", "a\n", "/a", "a/", "a//b", 5,
                        false, {}} do
      assert.matches("can't name an app: use letters, digits, _ and @",
        refused(config.app, config.new(), name, Plain))
    end
    assert.matches("'nil' can't name", refused(config.app, config.new(), nil, Plain))
  end)

  it("refuses what isn't a class", function ()
    assert.matches("is nil %(is its name spelled right%?%)",
      refused(config.app, config.new(), "a", nil))
    for _, class in ipairs{"Source", 5, {}, true} do
      assert.matches("^app 'a': its class is %a+, not a table with new%(%)",
        refused(config.app, config.new(), "a", class))
    end
  end)
end)

describe("config.link", function ()
  it("writes a link in one way, however it was written", function ()
    for _, spec in ipairs{"a.out->b.in", " a.out  ->\tb.in ", "a.out -> b.in"} do
      local c = config.new()
      config.link(c, spec)
      assert.same({["a.out -> b.in"] = true}, c.links)
      assert.equal("a.out -> b.in", config.canonical_link(spec))
    end
    assert.same({"a", "1", "b_2", "x"}, {config.parse_link("a.1 -> b_2.x")})
  end)

  it("refuses what isn't a link", function ()
    for _, spec in ipairs{"", "a -> b", "a.b", "a.b -> c", "a.b -> c.d -> e.f",
                          "a.b <- c.d", "a-b.c -> d.e", "a.b c -> d.e", 7, {}} do
      assert.matches("isn't a link: write 'app.output %-> app.input'",
        refused(config.link, config.new(), spec))
    end
  end)

  it("takes back what it formats, for random names", function ()
    local function name()
      local t = {}
      for i = 1, math.random(12) do
        local at = math.random(63)
        t[i] = ("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
          :sub(at, at)
      end
      return table.concat(t)
    end
    for _ = 1, 300 do
      local parts = {name(), name(), name(), name()}
      assert.same(parts, {config.parse_link(config.format_link(unpack(parts)))})
    end
  end)
end)

describe("config.graphviz", function ()
  it("draws every link", function ()
    local c = config.new()
    config.link(c, "b.x -> c.y")
    config.link(c, "a.x -> b.y")
    assert.equal([[
digraph config {
  "a" -> "b" [taillabel="x" headlabel="y"];
  "b" -> "c" [taillabel="x" headlabel="y"];
}
]], config.graphviz(c))
  end)
end)
