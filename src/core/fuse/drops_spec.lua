-- SPDX-License-Identifier: Apache-2.0

local config = require("core.config")
local counter = require("core.counter")
local drops = require("core.fuse.drops")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local shm = require("core.shm")

local function read(name)
  return shm.exists(name) and tonumber(counter.read(counter.open(name))) or nil
end

describe("drops", function ()
  after_each(function () drops.keep({}) end)

  it("are counted by app and reason; what of() gives is a copy", function ()
    local a, b = {}, {}
    drops.add(a, "x", 2)
    drops.add(a, "y", 1)
    drops.add(a, "x", 3)
    assert.same({x = 5, y = 1}, drops.of(a))
    assert.same({}, drops.of(b))
    drops.of(a).x = 7
    assert.equal(5, drops.of(a).x)
  end)

  it("are known of an app by its name, as of now, fused or not", function ()
    local Shed = {drops = {"x"}, process = function () return nil, 1 end}
    function Shed:new() return setmetatable({}, {__index = Shed}) end
    local c = config.new()
    config.app(c, "in", {new = function () return {} end})
    config.app(c, "a", Shed)
    config.link(c, "in.output -> a.input")
    for _, fused in ipairs{true, false} do
      engine.fuse = fused
      engine.configure(c)
      assert.same({}, engine.drops("a"))
      for n = 1, 3 do
        link.transmit(engine.app_table.a.input.input, packet.allocate())
        engine.breathe()
        assert.same({x = n}, engine.drops("a"))
      end
      local ok, err = pcall(engine.drops, "b")
      assert.is_false(ok)
      assert.equal("there is no app 'b'; the apps are: a, in", tostring(err))
      engine.stop()
    end
    engine.fuse = true
  end)

  it("go on when an app is started anew with another argument", function ()
    local Shed = {drops = {"x", "y"}}
    Shed.__index = Shed
    function Shed:new(arg) return setmetatable({reason = arg.reason}, self) end
    function Shed:process() return nil, self.reason end
    local Other = {drops = {"x"}, process = function () return nil, 1 end}
    function Other:new() return setmetatable({}, {__index = Other}) end
    local function configure(class, arg)
      local c = config.new()
      config.app(c, "in", {new = function () return {} end})
      config.app(c, "a", class, arg)
      config.link(c, "in.output -> a.input")
      engine.configure(c)
    end
    local function breathe()
      link.transmit(engine.app_table.a.input.input, packet.allocate())
      engine.breathe()
    end
    for _, fused in ipairs{true, false} do
      engine.fuse = fused
      configure(Shed, {reason = 1})
      local first = engine.app_table.a
      breathe()
      configure(Shed, {reason = 2})
      assert.are_not.equal(first, engine.app_table.a)
      assert.same({x = 1}, engine.drops("a"))
      breathe()
      configure(Shed, {reason = 1})
      breathe()
      engine.sync()
      assert.same({x = 2, y = 1}, engine.drops("a"))
      assert.equal(2, read("apps/a/drop_x.counter"))
      configure(Other) -- another app of that name begins at nothing
      assert.same({}, engine.drops("a"))
      engine.stop()
    end
    engine.fuse = true
  end)

  it("appear in shared memory with the first drop, and go with the app", function ()
    local a, b = {}, {}
    drops.publish{a = a, b = b}
    assert.is_false(shm.exists("apps/a"))
    drops.add(a, "TTL expired", 2)
    drops.add(a, "TTL-expired", 1)
    drops.publish{a = a, b = b}
    assert.equal(3, read("apps/a/drop_TTL_expired.counter"))
    drops.add(a, "TTL expired", 1)
    drops.publish{a = a, b = b}
    assert.equal(4, read("apps/a/drop_TTL_expired.counter"))
    assert.is_false(shm.exists("apps/b"))
    drops.keep{b = b}
    assert.is_false(shm.exists("apps/a"))
  end)

  it("begin anew with an app of the same name", function ()
    local old, new = {}, {}
    drops.add(old, "x", 2)
    drops.publish{a = old}
    drops.keep{a = new}
    assert.is_nil(read("apps/a/drop_x.counter"))
    drops.add(new, "x", 1)
    drops.publish{a = new}
    assert.equal(1, read("apps/a/drop_x.counter"))
  end)

  it("leave the app's own counters there", function ()
    local app = {}
    counter.create("apps/a/hits.counter", 7)
    drops.add(app, "x", 1)
    drops.publish{a = app}
    drops.keep{}
    assert.equal(7, read("apps/a/hits.counter"))
    counter.delete("apps/a/hits.counter")
    shm.unlink("apps/a")
  end)
end)
