-- SPDX-License-Identifier: Apache-2.0
-- Apps that emit packets, keep them, or have numbered inputs, and links in loops: fused
-- and alone. That both give the same packets in random graphs is fused_spec.lua's.

local config = require("core.config")
local drops = require("core.fuse.drops")
local engine = require("core.app")
local packet = require("core.packet")
local regions = require("testing.regions")
local texts = require("testing.texts")
local timer = require("core.timer")

local held, take, totals, transmit = texts.held, texts.take, texts.totals, texts.send
local class, run = regions.class, regions.run
local Pass = regions.Pass

-- Sends a copy to its second output before each packet.
local Tee = class{outputs = {"output", "copy"}, emits = true,
  process = function (self, p)
    self.emit(2, packet.clone(p))
    return p
  end}

-- Keeps packets until pull() or flush() lets go of them.
local Keep = class{emits = true, new = function (self)
  return setmetatable({kept = {}}, {__index = self})
end, process = function (self, p)
  table.insert(self.kept, p)
  return false
end, flush = function (self)
  for _, p in ipairs(self.kept) do self.emit(1, p) end
  self.kept = {}
end}

for _, fused in ipairs{true, false} do
  describe(fused and "a fused app" or "an app by itself", function ()
    local before
    before_each(function ()
      packet.free(packet.allocate())
      engine.fuse, before = fused, held()
    end)
    after_each(function ()
      engine.fuse = true
      engine.configure(config.new())
    end)

    local function in_regions(n) assert.equal(fused and n or 0, #engine.regions) end

    it("may send more packets than it returns", function ()
      run({tee = {Tee}, a = {Pass}, b = {Pass}}, {"in.x -> tee.i", "tee.output -> a.i",
        "tee.copy -> b.i", "a.output -> out.a", "b.output -> out.b"})
      in_regions(1)
      transmit("in.x -> tee.i", {"abc", "de"})
      engine.breathe()
      engine.breathe()
      assert.same({"abc", "de"}, take("a.output -> out.a"))
      assert.same({"abc", "de"}, take("b.output -> out.b"))
      assert.same({2, 5, 2, 5, 0}, totals("tee.output -> a.i"))
      assert.same({2, 5, 2, 5, 0}, totals("tee.copy -> b.i"))
      assert.equal(before, held())
    end)

    it("may send more than an array holds", function ()
      local Many = class{emits = true, process = function (self, p)
        for _ = 1, 600 do self.emit(1, packet.clone(p)) end
        return nil
      end}
      run({many = {Many}}, {"in.x -> many.i", "many.output -> out.i"})
      transmit("in.x -> many.i", {"abc"})
      engine.breathe()
      assert.equal(600, #take("many.output -> out.i"))
      engine.sync()
      assert.same({dropped = 1}, drops.of(engine.app_table.many))
    end)

    it("loses what it emits where there is no link, by name", function ()
      local Astray = class{emits = true, process = function (self, p)
        self.emit(1, packet.clone(p))
        self.emit(7, packet.clone(p))
        return nil
      end}
      run({astray = {Astray}}, {"in.x -> astray.i"})
      transmit("in.x -> astray.i", {"abc"})
      engine.breathe()
      engine.report{}
      assert.same({dropped = 1, ["no such output"] = 1, ["no link at output"] = 1},
        drops.of(engine.app_table.astray))
    end)

    it("keeps a packet by returning false", function ()
      run({keep = {Keep}, a = {Pass}}, {"in.x -> keep.i", "keep.output -> a.i",
                                        "a.output -> out.i"})
      transmit("in.x -> keep.i", {"abc", "de"})
      engine.breathe()
      assert.equal(before + 2, held())
      assert.same({0, 0, 0, 0, 0}, totals("keep.output -> a.i"))
      assert.same({}, drops.of(engine.app_table.keep))
      timer.activate(timer.new("flush", function ()
        engine.app_table.keep:flush()
      end, 0))
      engine.main{duration = 0.01, no_report = true}
      assert.same({"abc", "de"}, take("a.output -> out.i"))
      assert.same({2, 5, 2, 5, 0}, totals("keep.output -> a.i"))
      assert.equal(before, held())
    end)

    it("may be a source, and have pull() and tick()", function ()
      local Source = class{emits = true, pull = function (self)
        self.emit(1, packet.from_string("pulled"))
      end, tick = function (self)
        if self.ticked then return end
        self.ticked = true
        self.emit(1, packet.from_string("ticked"))
      end}
      run({source = {Source}, a = {Pass}},
        {"source.output -> a.i", "a.output -> out.i"})
      in_regions(1)
      local done = 0
      engine.main{no_report = true, done = function ()
        done = done + 1
        return done == 3
      end}
      local got = take("a.output -> out.i")
      table.sort(got)
      assert.same({"pulled", "pulled", "pulled", "ticked"}, got)
      assert.same({4, 24, 4, 24, 0}, totals("source.output -> a.i"))
    end)

    it("knows its inputs by number, each of which takes several links", function ()
      local Numbers = class{inputs = {"x", "y"}, process = function (_, p, i)
        p.data[0] = p.data[0] + i
        return p
      end}
      run({a = {Pass}, n = {Numbers}}, {"in.a -> a.i", "a.output -> n.y", "in.x -> n.x",
        "in.y -> n.y", "in.z -> n.x", "n.output -> out.i"})
      transmit("in.a -> a.i", {"a"})
      transmit("in.x -> n.x", {"x"})
      transmit("in.y -> n.y", {"P"})
      transmit("in.z -> n.x", {"p"})
      engine.breathe()
      local got = take("n.output -> out.i")
      table.sort(got)
      assert.same({"R", "c", "q", "y"}, got)
    end)

    it("can be told apart by its link after one of an input's has gone", function ()
      local links = {"in.a -> a.i", "in.b -> a.i", "a.output -> out.i"}
      run({a = {Pass}}, links)
      run({a = {Pass}}, {links[2], links[3]})
      transmit(links[2], {"b"})
      engine.breathe()
      assert.same({"b"}, take(links[3]))
    end)

    it("may be in a loop of links", function ()
      local Count = class{outputs = {"again", "done"}, process = function (_, p)
        p.data[0] = p.data[0] - 1
        return p, p.data[0] == 0 and 2 or 1
      end}
      run({count = {Count}, a = {Pass}}, {"in.x -> count.i", "count.again -> a.i",
        "a.output -> count.j", "count.done -> out.i"})
      transmit("in.x -> count.i", {"\5bc", "\1de", "\60f"})
      for _ = 1, 70 do engine.breathe() end
      local got = take("count.done -> out.i")
      table.sort(got)
      assert.same({"\0bc", "\0de", "\0f"}, got)
      assert.same({63, 130, 63, 130, 0}, totals("count.again -> a.i"))
      assert.same({63, 130, 63, 130, 0}, totals("a.output -> count.j"))
      assert.equal(before, held())
    end)

    it("names itself in an error, also when others have emitted to it", function ()
      local Bad = class{process = function (_, p)
        if p.data[0] == 0 then error("zero!") end
        return p
      end}
      run({tee = {Tee}, a = {Pass}, bad = {Bad}}, {"in.x -> tee.i", "tee.output -> a.i",
        "tee.copy -> bad.i", "a.output -> out.a", "bad.output -> out.b"})
      transmit("in.x -> tee.i", {"abc", "\0de", "f"})
      local ok, err = pcall(engine.breathe)
      assert.is_false(ok)
      assert.matches("^app 'bad': in process%(%): .*zero!", tostring(err))
      engine.breathe()
      engine.breathe()
      local got = take("a.output -> out.a")
      assert.equal("f", got[#got])
      assert.same({"abc", "f"}, take("bad.output -> out.b"))
      -- Alone, the tee has done its work when the other app fails.
      assert.equal(before + (fused and 2 or 1), held())
    end)

    it("names itself in an error when a source has emitted to it", function ()
      local Source = class{emits = true, pull = function (self)
        self.emit(1, packet.from_string("x"))
      end}
      local Bad = class{process = function () error("never!") end}
      run({source = {Source}, bad = {Bad}}, {"source.output -> bad.i"})
      local ok, err = pcall(engine.breathe)
      assert.is_false(ok)
      assert.matches("^app 'bad': in process%(%): .*never!", tostring(err))
      assert.equal(before + 1, held())
    end)

    it("can't emit before it runs", function ()
      local Early = class{emits = true, link = function (self)
        self.emit(1, packet.allocate())
      end}
      local ok, err = pcall(run, {early = {Early}}, {"early.output -> out.i"})
      assert.is_false(ok)
      assert.matches("app 'early': in link%(%): emit%(%) was called before the app "
        .. "runs", tostring(err))
    end)
  end)
end

describe("a region", function ()
  after_each(function () engine.configure(config.new()) end)

  it("drops what goes round a loop without end", function ()
    run({a = {Pass}, b = {Pass}}, {"in.x -> a.i", "a.output -> b.i", "b.output -> a.j"})
    transmit("in.x -> a.i", {"abc", "de"})
    engine.breathe()
    engine.report{}
    assert.same({["too often round a loop"] = 2}, drops.of(engine.app_table.a))
    assert.same({130, 325, 130, 325, 0}, totals("a.output -> b.i"))
  end)

  it("keeps its apps' emit() when it is made anew", function ()
    run({tee = {Tee}}, {"in.x -> tee.i", "tee.output -> out.a", "tee.copy -> out.b"})
    transmit("in.x -> tee.i", {"abc"})
    engine.breathe()
    run({tee = {Tee}}, {"in.x -> tee.i", "tee.copy -> out.b"})
    transmit("in.x -> tee.i", {"de"})
    engine.breathe()
    assert.same({"abc", "de"}, take("tee.copy -> out.b"))
  end)
end)
