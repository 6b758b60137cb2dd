-- SPDX-License-Identifier: Apache-2.0
-- What programs of Snabb's find at apps and links, and what reaches them of errors.

local basic = require("apps.basic.basic_apps")
local changes = require("testing.changes")
local config = require("core.config")
local counter = require("core.counter")
local engine = require("core.app")
local testing = require("testing.support")

after_each(function () engine.configure(config.new()) end)

-- A class whose methods are those of `methods`.
local function class(methods)
  methods.new = methods.new or function ()
    return setmetatable({}, {__index = methods})
  end
  return methods
end

describe("apps", function ()
  it("have a zone: their own, their module's name, or theirs", function ()
    local Zoned = class{new = function () return {zone = "own"} end}
    local Module = setfenv(function () return {} end, {_NAME = "apps.mine"})
    engine.configure(changes.graph{
      a = {Zoned}, b = {{new = Module}}, c = {class{}}, d = {basic.Sink}})
    local apps = engine.app_table
    assert.same({"own", "apps.mine", "c"}, {apps.a.zone, apps.b.zone, apps.c.zone})
    assert.equal("d", apps.d.zone)
  end)

  it("and links were made at a dtime since 1970", function ()
    local before = os.time()
    local Counting = class{new = function ()
      return {shm = {}, pull = function () end}
    end}
    engine.configure(changes.graph({a = {Counting}, b = {basic.Sink}}, {"a.x -> b.y"}))
    for _, made in ipairs{
      engine.app_table.a.shm.dtime, engine.link_table["a.x -> b.y"].stats.dtime,
    } do
      local seconds = tonumber(counter.read(made))
      -- os.time() may be a tick of the kernel behind.
      assert.is_true(before <= seconds and seconds <= os.time() + 1, tostring(seconds))
    end
  end)
end)

describe("the engine's counters", function ()
  local packet = require("core.packet")
  local NAMES = {"breaths", "frees", "freebytes", "freebits"}
  local LENGTH, WIRE_BITS = 100, (12 + 8 + 100 + 4) * 8

  local function read()
    local values = {}
    for i, name in ipairs(NAMES) do values[i] = tonumber(counter.read(engine[name])) end
    return values
  end

  local function since(before)
    local now = read()
    for i = 1, #now do now[i] = now[i] - before[i] end
    return now
  end

  it("are exact when they are read, also within a breath", function ()
    local before, within
    engine.configure(changes.graph{a = {class{pull = function ()
      for _ = 1, 3 do packet.free(packet.resize(packet.allocate(), LENGTH)) end
      within = since(before)
    end}}})
    for _ = 1, 300 do -- compiled, too
      before = read()
      engine.breathe()
      assert.same({0, 3, 3 * LENGTH, 3 * WIRE_BITS}, within)
      assert.same({1, 3, 3 * LENGTH, 3 * WIRE_BITS}, since(before))
    end
    local frees = engine.frees.c
    engine.breathe()
    assert.equal(frees + 3, engine.frees.c)
  end)
end)

describe("what an app raises", function ()
  local Own = setmetatable({}, {__tostring = function () return "boom" end})

  local function fails_in(method)
    return changes.graph({s = {basic.Source}, a = {class{[method] = function ()
      error(Own)
    end}}}, {"s.x -> a.y"})
  end

  it("arrives as the same table, whatever called the app", function ()
    local ok, err = pcall(engine.configure, fails_in("new"))
    assert.is_false(ok)
    assert.equal(Own, err)
    for _, run in ipairs{engine.breathe, function ()
      engine.main{duration = 0.01, no_report = true}
    end} do
      engine.configure(fails_in("push"))
      ok, err = pcall(run)
      assert.is_false(ok)
      assert.equal(Own, err)
      engine.configure(config.new())
    end
  end)

  it("is a sentence at the end of a program", function ()
    local said, status = testing.perigee{"snsh", "-e", [[
      local c = config.new()
      config.app(c, "a", {new = function ()
        return {pull = function () error(setmetatable({}, {__tostring = function ()
          return "boom"
        end})) end}
      end})
      engine.configure(c)
      engine.main{duration = 1}]]}
    assert.equal(1, status)
    assert.matches("\nperigee: app 'a': in pull%(%): boom\nstack traceback:", said)
  end)
end)

describe("an app that leaves", function ()
  it("is unlinked before it is stopped, also for one that takes its place", function ()
    local Noted, noted = changes.noting()
    local Holder = setmetatable({check_arg = function () return "card" end},
      {__index = Noted})
    engine.configure(changes.graph({a = {Noted, "a"}, b = {Holder, "b"}},
      {"a.x -> b.y"}))
    noted()
    engine.configure(changes.graph({a = {Noted, "a"}, c = {Holder, "c"}},
      {"a.x -> c.y"}))
    assert.same({"b unlink input y", "b stop", "c new", "a unlink output x",
      "a link output x", "c link input y"}, noted())
  end)

  it("so is one that becomes another without its link", function ()
    local Noted, noted = changes.noting()
    local Other = setmetatable({}, {__index = Noted})
    engine.configure(changes.graph({a = {Noted, "a"}, b = {Noted, "b"}},
      {"a.x -> b.y"}))
    noted()
    engine.configure(changes.graph{a = {Noted, "a"}, b = {Other, "b"}})
    assert.same({"b unlink input y", "b stop", "b new", "a unlink output x"}, noted())
  end)
end)
