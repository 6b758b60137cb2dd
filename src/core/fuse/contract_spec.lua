-- SPDX-License-Identifier: Apache-2.0

local config = require("core.config")
local engine = require("core.app")
local failure = require("core.failure")

local function pass(_, p) return p end
local function nothing() end

-- A configuration with an app "a" of the fields, and links from its `outputs`.
local function graph(fields, outputs)
  local c = config.new()
  fields.new = function () return setmetatable({}, {__index = fields}) end
  config.app(c, "a", fields)
  config.app(c, "b", {new = function () return {} end})
  for _, output in ipairs(outputs) do
    config.link(c, ("a.%s -> b.%s"):format(output, output))
  end
  return c
end

local function refused(fields, outputs)
  local ok, err = pcall(engine.configure, graph(fields, outputs or {}))
  assert.is_false(ok)
  assert.is_true(failure.is(err), tostring(err))
  assert.equal(2, err.status)
  assert.is_nil(engine.app_table.a)
  return tostring(err)
end

local function taken(fields, outputs)
  engine.configure(graph(fields, outputs))
  local links = engine.app_table.a.output
  for _, output in ipairs(outputs) do assert.truthy(links[output]) end
  engine.stop()
end

describe("a link from an output", function ()
  after_each(function () engine.stop() end)

  it("that a per-packet or bulk app doesn't list is refused", function ()
    assert.equal("link 'a.oops -> b.oops': app 'a' has no output 'oops'; it has x, y",
      refused({process = pass, outputs = {"x", "y"}}, {"x", "oops"}))
    assert.equal("link 'a.x -> b.x': app 'a' has no output 'x'; it has output",
      refused({process = pass}, {"x"}))
    assert.equal("link 'a.x -> b.x': app 'a' has no output 'x'; it has none",
      refused({process = pass, outputs = {}}, {"x"}))
    assert.equal("link 'a.z -> b.z': app 'a' has no output 'z'; it has x",
      refused({outputs = {"x"}}, {"z"})) -- new() chooses a process()
    assert.equal("link 'a.z -> b.z': app 'a' has no output 'z'; it has x",
      refused({process_burst = nothing, outputs = {"x"}}, {"z"}))
  end)

  it("that it lists may be there or not", function ()
    taken({process = pass, outputs = {"x", "y"}}, {"x", "y"})
    taken({process = pass, outputs = {"x", "y"}}, {"y"})
    taken({process = pass, outputs = {"x", "y"}}, {})
    taken({process = pass}, {"output"})
    taken({process_burst = nothing, outputs = {"x", "y"}}, {"x"})
  end)

  it("of an app that sends by itself may have any name, as in Snabb", function ()
    taken({push = nothing}, {"x"})
    taken({push = nothing, process = pass}, {"x"})
    taken({pull = nothing, process = pass}, {"x"})
    taken({push_link = {}, process = pass}, {"x"})
    taken({push = nothing, outputs = 7, drops = true}, {"x"})
  end)
end)

describe("a class", function ()
  it("with lists that are none is refused", function ()
    assert.equal("app 'a': its class's outputs is a string; it must be a list of names",
      refused{process = pass, outputs = "output"})
    assert.equal("app 'a': its class's drops[2] is a number; it must be a name",
      refused{process = pass, drops = {"x", 2}})
    assert.equal("app 'a': its class's drops is a boolean; it must be a list of names",
      refused{process_burst = nothing, drops = true})
  end)

  it("that takes no packets at once, or too many, is refused", function ()
    for _, n in ipairs{0, 257, 1.5, 0 / 0, "x"} do
      local stopped = 0
      local function stop() stopped = stopped + 1 end
      assert.equal("app 'a': at_once is a whole number from 1 to 256, not '"
        .. tostring(n) .. "'", refused{process = pass, at_once = n, stop = stop})
      assert.equal(1, stopped)
    end
    taken({process = pass, at_once = 32}, {"output"})
    taken({push = nothing, at_once = "means something else"}, {"output"})
  end)

  it("of bulk apps with more ways than a byte can tell is refused", function ()
    local outputs, drops = {}, {}
    for i = 1, 128 do outputs[i], drops[i] = "o" .. i, "d" .. i end
    assert.equal("app 'a': a bulk app has up to 255 outputs and drops, not 128 and 128",
      refused{process_burst = nothing, outputs = outputs, drops = drops})
    taken({process = pass, outputs = outputs, drops = drops}, {"o128"})
  end)
end)
