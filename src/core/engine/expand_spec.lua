-- SPDX-License-Identifier: Apache-2.0
local config = require("core.config")
local expand = require("core.engine.expand")

local Plain = {new = function () end}

-- Stands for NAME/a -> NAME/b; `arg` may rename the second.
local Pair = {new = function () end}
function Pair.expand(arg, name)
  local a, b = name .. "/a", arg or name .. "/b"
  return {
    apps = {[a] = {class = Plain}, [b] = {class = Plain}},
    links = {[a .. ".output->" .. b .. ".input"] = true},
    inputs = function (port) return port == "input" and a .. ".in" or nil end,
    outputs = function (port) return port == "output" and b .. ".out" or nil end,
  }
end

local function example(link, arg)
  local c = config.new()
  config.app(c, "x", Plain)
  config.app(c, "p", Pair, arg)
  config.link(c, link)
  return c
end

describe("Apps that stand for graphs", function ()
  it("are replaced by them", function ()
    local c = example("x.output -> p.input")
    config.link(c, "p.output -> x.input")
    local e = expand.all(c)
    assert.same({"p/a", "p/b", "x"}, config.sorted_keys(e.apps))
    assert.same({"p/a.output -> p/b.input", "p/b.out -> x.input", "x.output -> p/a.in"},
      config.sorted_keys(e.links))
    assert.same({"p", "x"}, config.sorted_keys(c.apps))
  end)

  it("may be linked to each other", function ()
    local c = example("p.output -> q.input")
    config.app(c, "q", Pair)
    assert.truthy(expand.all(c).links["p/b.out -> q/a.in"])
  end)

  it("cost nothing where there are none", function ()
    local c = config.new()
    config.app(c, "x", Plain)
    assert.equal(c, expand.all(c))
  end)

  it("have the links that they say", function ()
    local function problem(...)
      local ok, err = pcall(expand.all, example(...))
      return not ok and tostring(err)
    end
    assert.equal("link 'x.output -> p.more': app 'p' has no input 'more'",
      problem("x.output -> p.more"))
    assert.equal("app 'p' expands to an app 'y', which isn't called p/...",
      problem("x.output -> p.input", "y"))
  end)
end)
