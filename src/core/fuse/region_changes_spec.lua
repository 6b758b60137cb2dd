-- SPDX-License-Identifier: Apache-2.0
-- Regions over reconfigurations: packets, order and counters go on.

local counter = require("core.counter")
local drops = require("core.fuse.drops")
local engine = require("core.app")
local ffi = require("ffi")
local link = require("core.link")
local packet = require("core.packet")
local regions = require("testing.regions")
local shm = require("core.shm")
local texts = require("testing.texts")

local take, totals, transmit = texts.take, texts.totals, texts.send
local chain, class, run = regions.chain, regions.class, regions.run
local Idle, Pass = regions.Idle, regions.Pass
local OUT = "a2.output -> out.input"

describe("a region", function ()
  after_each(regions.tear_down)

  describe("over reconfigurations", function ()
    local function two(extra)
      local apps, links = chain(2, Pass)
      apps.x, apps.other = {Pass}, {Pass, extra}
      links[#links + 1] = "x.output -> other.input"
      links[#links + 1] = "other.output -> out.other"
      return apps, links
    end

    local function region_of(name)
      for _, r in ipairs(engine.regions) do
        if r.description.index[name] then return r end
      end
    end

    it("stays the same object while others change", function ()
      run(two(1))
      local kept, changed = region_of("a1"), region_of("other")
      run(two(2))
      assert.equal(kept, region_of("a1"))
      assert.not_equal(changed, region_of("other"))
    end)

    it("stays the same when only its neighbours are made anew", function ()
      local apps, links = chain(2, Pass)
      apps["in"], apps.out = {Idle, 1}, {Idle, 1}
      run(apps, links)
      local kept = region_of("a1")
      apps["in"], apps.out = {Idle, 2}, {Idle, 2}
      run(apps, links)
      assert.equal(kept, region_of("a1"))
      transmit(links[1], {"a"})
      engine.breathe()
      assert.same({"a"}, take(OUT))
    end)

    it("loses and reorders nothing that waits in its links", function ()
      engine.fuse = false
      local apps, links = chain(3, Pass)
      run(apps, links)
      transmit(links[3], {"1", "2"})
      transmit(links[2], {"3"})
      transmit(links[1], {"4", "5"})
      engine.fuse = true
      run(apps, links)
      transmit(links[1], {"6"})
      engine.breathe()
      assert.same({"1", "2", "3", "4", "5", "6"}, take(links[4]))
      assert.same({4, 4, 4, 4, 0}, totals(links[2])) -- 1 and 2 began behind it
      assert.same({6, 6, 6, 6, 0}, totals(links[3]))
    end)

    it("counts on, fused or not, and drops too", function ()
      local odd = class{drops = {"odd"}, process = function (_, p)
        if p.length % 2 == 1 then return nil, 1 end
        return p
      end}
      local apps, links = chain(2, odd)
      for round = 1, 6 do
        engine.fuse = round % 2 == 1
        run(apps, links)
        assert.equal(round % 2, #engine.regions)
        transmit(links[1], {"ab", "abc"})
        engine.breathe()
        take(OUT)
        assert.same({2 * round, 5 * round, 2 * round, 5 * round, 0}, totals(links[1]))
        assert.same({round, 2 * round, round, 2 * round, 0}, totals(links[2]))
      end
      engine.report{}
      assert.same({odd = 6}, drops.of(engine.app_table.a1))
      assert.same({}, drops.of(engine.app_table.a2))
    end)

    it("has exact counters whenever they are read", function ()
      local apps, links = chain(3, Pass)
      run(apps, links)
      for n = 1, 5 do
        transmit(links[1], {"abc"})
        engine.breathe()
        local l = engine.link_table[links[2]]
        assert.equal(n, tonumber(counter.read(l.stats.rxpackets)))
        assert.equal(3 * n, tonumber(counter.read(l.stats.txbytes)))
        assert.equal(3 * n, link.stats(engine.link_table[links[1]]).rxbytes)
      end
      engine.report{}
      counter.commit()
      local file = shm.open("links/" .. links[2] .. "/rxpackets.counter",
        ffi.typeof("struct counter"), true)
      assert.equal(5, tonumber(file.c))
      shm.unmap(file)
    end)

    it("uses the process function that reconfig() sets", function ()
      local function first(_, p) return packet.resize(p, 1) end
      local function second(_, p) return packet.resize(p, 2) end
      local Changing = {}
      function Changing:new(n)
        local app = setmetatable({}, {__index = Changing})
        app:reconfig(n)
        return app
      end
      function Changing:reconfig(n) self.process = n == 1 and first or second end
      run({a2 = {Changing, 1}}, {"in.x -> a2.i", OUT})
      transmit("in.x -> a2.i", {"abc"})
      engine.breathe()
      run({a2 = {Changing, 2}}, {"in.x -> a2.i", OUT})
      transmit("in.x -> a2.i", {"abc"})
      engine.breathe()
      assert.same({"a", "ab"}, take(OUT))
    end)

    it("uses the argument that reconfig() is given, and keeps its code", function ()
      local Cut = {process = function (self, p) return packet.resize(p, self.n) end}
      function Cut:new(n) return setmetatable({n = n}, {__index = Cut}) end
      function Cut:reconfig(n) self.n = n end
      run({a2 = {Cut, 1}}, {"in.x -> a2.i", OUT})
      transmit("in.x -> a2.i", {"abc"})
      engine.breathe()
      local kept = engine.regions[1]
      run({a2 = {Cut, 2}}, {"in.x -> a2.i", OUT})
      transmit("in.x -> a2.i", {"abc"})
      engine.breathe()
      assert.same({"a", "ab"}, take(OUT))
      assert.equal(kept, engine.regions[1])
    end)

    it("never calls an app that has stopped", function ()
      local log = {}
      local Noting = class{
        process = function (self, p)
          assert(not self.stopped)
          log[#log + 1] = self.arg
          return p
        end,
        stop = function (self) self.stopped = true end,
      }
      local links = {"in.x -> a2.i", OUT}
      for n = 1, 3 do
        run({a2 = {Noting, n}}, links)
        transmit("in.x -> a2.i", {"x"})
        engine.breathe()
      end
      run({}, {"in.x -> out.i"})
      transmit("in.x -> out.i", {"x"})
      engine.breathe()
      assert.same({1, 2, 3}, log)
    end)
  end)
end)
