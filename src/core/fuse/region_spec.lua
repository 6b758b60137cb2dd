-- SPDX-License-Identifier: Apache-2.0
-- Regions at their limits, and what they drop. That they do what their apps do alone is
-- fused_spec.lua's.

local config = require("core.config")
local counter = require("core.counter")
local drops = require("core.fuse.drops")
local engine = require("core.app")
local link = require("core.link")
local regions = require("testing.regions")
local packet_paths = require("core.fuse.packet_paths")
local shm = require("core.shm")
local texts = require("testing.texts")

local take, totals, transmit = texts.take, texts.totals, texts.send
local chain, class = regions.chain, regions.class
local run, run_anew = regions.run, regions.run_anew
local Pass = regions.Pass
local OUT = "a2.output -> out.input"

describe("a region", function ()
  after_each(regions.tear_down)

  describe("of any shape", function ()
    -- Everything gets through, and is counted on each link.
    local function passes(n)
      local apps, links = chain(n, Pass)
      run_anew(apps, links)
      transmit(links[1], {"abc", "de"})
      engine.breathe()
      assert.same({"abc", "de"}, take(links[#links]))
      for _, spec in ipairs(links) do assert.same({2, 5, 2, 5, 0}, totals(spec)) end
    end

    it("passes packets through chains of every length up to 60 #slow", function ()
      for n = 1, 60 do passes(n) end
    end)

    it("passes packets through 1,000 apps, in 8 regions #slow", function ()
      passes(1000)
      assert.equal(8, #engine.regions)
    end)

    -- Run them with "split", which sends a packet to the output, of `n`, that its first
    -- byte says.
    local function run_split(n, apps, links)
      local outputs = {}
      for i = 1, n do
        outputs[i] = "o" .. i
        apps["p" .. i] = {Pass}
        links[#links + 1] = ("split.o%d -> p%d.input"):format(i, i)
        links[#links + 1] = ("p%d.output -> out.i%d"):format(i, i)
      end
      apps.split = {class{outputs = outputs, process = function (_, p)
        return p, p.data[0]
      end}}
      run_anew(apps, links)
    end

    it("may have more exits than a function may have variables #slow", function ()
      for round, n in ipairs{10, 19, 20, 21, 50, 130, 250, 20, 21} do
        packet_paths.note("split", round > 7)
        local links = {"in.x -> split.i", "in.y -> split.j"}
        run_split(n, {}, links)
        assert.equal(1, #engine.regions)
        transmit(links[1], {string.char(1), string.char(n)})
        transmit(links[2], {string.char(n) .. "x"})
        engine.breathe()
        assert.same({string.char(1)}, take("p1.output -> out.i1"))
        local last = ("p%d.output -> out.i%d"):format(n, n)
        -- The app is pushed for the last name first.
        assert.same({string.char(n) .. "x", string.char(n)}, take(last))
        assert.same({2, 3, 2, 3, 0}, totals(("split.o%d -> p%d.input"):format(n, n)))
        assert.same({1, 2, 1, 2, 0}, totals(links[2]))
        assert.equal(round > 7, engine.regions[1].description.spread)
      end
      packet_paths.note("split", nil)
    end)

    it("may end a long run of apps in many branches #slow", function ()
      for _, n in ipairs{1, 5, 6, 7, 10, 60, 100} do
        local apps, links = chain(23, Pass)
        links[#links] = "a23.output -> split.i"
        run_split(n, apps, links)
        for i = 1, n do transmit(links[1], {string.char(i)}) end
        engine.breathe()
        for i = 1, n do
          assert.same({string.char(i)}, take(("p%d.output -> out.i%d"):format(i, i)))
        end
      end
    end)

    it("may be 300 runs of apps: a tree of branches #slow", function ()
      local apps, links, fork = {}, {}, class{
        outputs = {"a", "b"},
        process = function (_, p)
          local bits = p.data[0]
          p.data[0] = bit.rshift(bits, 1)
          return p, bits % 2 + 1
        end,
      }
      local exits = 0
      for i = 1, 127 do
        apps["f" .. i] = {fork}
        for o, name in ipairs{"a", "b"} do
          if 2 * i + 1 <= 127 then
            links[#links + 1] = ("f%d.%s -> f%d.i"):format(i, name, 2 * i + o - 1)
          else
            exits = exits + 1
            links[#links + 1] = ("f%d.%s -> out.i%d"):format(i, name, 2 * i + o - 1)
          end
        end
      end
      links[#links + 1] = "in.x -> f1.i"
      run(apps, links)
      assert.equal(128, exits)
      for value = 0, 127 do transmit("in.x -> f1.i", {string.char(value)}) end
      engine.breathe()
      for i = 64, 127 do
        assert.equal(1, #take(("f%d.a -> out.i%d"):format(i, 2 * i)))
        assert.equal(1, #take(("f%d.b -> out.i%d"):format(i, 2 * i + 1)))
        assert.same({1, 1, 1, 1, 0}, totals(("f%d.b -> out.i%d"):format(i, 2 * i + 1)))
      end
    end)

    it("counts in a loop that nothing else leads into", function ()
      engine.fuse = false
      local apps = {a = {class{outputs = {"x", "y"}, process = function (_, p)
        p.data[0] = p.data[0] - 1
        return p, p.data[0] == 0 and 2 or 1
      end}}, b = {Pass}}
      local links = {"a.x -> b.i", "b.output -> a.i", "a.y -> out.i"}
      run(apps, links)
      transmit("a.x -> b.i", {"\3abc"})
      transmit("b.output -> a.i", {"\2"})
      engine.fuse = true
      run(apps, links)
      for _ = 1, 5 do engine.breathe() end
      assert.same({4, 13, 4, 13, 0}, totals("a.x -> b.i"))
      assert.same({5, 14, 5, 14, 0}, totals("b.output -> a.i"))
      assert.equal(2, #take("a.y -> out.i"))
    end)

    it("takes names that are Lua's own words", function ()
      local apps = {["end"] = {class{
        outputs = {"nil", "for"}, drops = {"end", "%d]]"},
        process = function (_, p)
          if p.data[0] == 0 then return nil, 2 end
          return p, p.data[0]
        end}}, ["local"] = {Pass}, ["function"] = {Pass}}
      run(apps, {"in.return -> end.while", "end.nil -> local.do",
                 "end.for -> function.then", "local.output -> out.a",
                 "function.output -> out.b"})
      transmit("in.return -> end.while", {"\1", "\2", "\0"})
      engine.breathe()
      assert.same({"\1"}, take("local.output -> out.a"))
      assert.same({"\2"}, take("function.output -> out.b"))
      engine.report{}
      assert.equal(1, drops.of(engine.app_table["end"])["%d]]"])
    end)

    it("takes all that waits in a link, more than a burst of it", function ()
      for _, fused in ipairs{true, false} do
        engine.fuse = fused
        local bulk = class{process_burst = function () end}
        run({a = {Pass}, b = {bulk}}, {"in.x -> a.i", "a.output -> b.i",
                                       "b.output -> out.i"})
        for _ = 1, link.max do transmit("in.x -> a.i", {"x"}) end
        engine.breathe()
        assert.equal(link.max, #take("b.output -> out.i"))
        engine.configure(config.new())
      end
    end)

    it("drops what a full link has no room for", function ()
      run(chain(2, Pass))
      for _ = 1, link.max do transmit("in.output -> a1.input", {"ab"}) end
      engine.breathe()
      transmit("in.output -> a1.input", {"cde", "f"})
      engine.breathe()
      assert.same({0, 0, 1023, 2046, 2}, totals(OUT))
      assert.same({1025, 2050, 1025, 2050, 0}, totals("a1.output -> a2.input"))
      assert.same({1025, 2050, 1025, 2050, 0}, totals("in.output -> a1.input"))
    end)
  end)

  describe("drops", function ()
    local Drop = class{drops = {"a b", "a-b"}, outputs = {"x", "y"},
      process = function (_, p)
        if p.data[0] < 5 then return nil, p.data[0] end
        return p, p.data[0] - 5
      end}

    it("by name, and what has no way out", function ()
      for _, fused in ipairs{true, false} do
        engine.fuse = fused
        run({a = {Drop}}, {"in.x -> a.i", "a.x -> out.i"})
        transmit("in.x -> a.i", {"\0", "\1", "\1", "\2", "\3", "\6", "\7", "\9", "\9"})
        engine.breathe()
        engine.report{}
        assert.same({["a b"] = 2, ["a-b"] = 1, dropped = 2, ["no link at y"] = 1,
                     ["no such output"] = 2}, drops.of(engine.app_table.a))
        local c = counter.open("apps/a/drop_a_b.counter")
        assert.equal(3, tonumber(counter.read(c)))
        engine.configure(config.new())
        assert.is_false(shm.exists("apps/a"))
      end
    end)

    it("of what is no number as 'dropped'", function ()
      for _, fused in ipairs{true, false} do
        engine.fuse = fused
        run({a = {class{drops = {"x"}, process = function () return nil, "y" end}}},
          {"in.x -> a.i"})
        transmit("in.x -> a.i", {"a"})
        engine.breathe()
        engine.report{}
        assert.same({dropped = 1}, drops.of(engine.app_table.a))
        engine.configure(config.new())
      end
    end)
  end)
end)
