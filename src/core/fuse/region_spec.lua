-- SPDX-License-Identifier: Apache-2.0
-- Regions at their limits, over reconfigurations and after errors. That they do
-- what their apps do alone is fuse_spec.lua's.

local config = require("core.config")
local counter = require("core.counter")
local drops = require("core.fuse.drops")
local engine = require("core.app")
local ffi = require("ffi")
local link = require("core.link")
local packet = require("core.packet")
local shm = require("core.shm")
local texts = require("testing.texts")

local held, take, totals, transmit = texts.held, texts.take, texts.totals, texts.send

local Idle = {new = function () return {} end}

-- A class of the fields, with a new() that keeps the argument as `arg`.
local function class(fields)
  fields.new = fields.new or function (self, arg)
    return setmetatable({arg = arg}, {__index = self})
  end
  return fields
end

local Pass = class{process = function (_, p) return p end}

-- apps: {name = {class, arg}}; links: texts. "in" and "out" are idle apps.
local function configuration(apps, links)
  local c = config.new()
  for name, app in pairs(apps) do config.app(c, name, unpack(app)) end
  for _, spec in ipairs(links) do
    config.link(c, spec)
    for _, name in ipairs{"in", "out"} do
      if not c.apps[name] and (" " .. spec):match("%s" .. name .. "%.") then
        config.app(c, name, Idle)
      end
    end
  end
  return c
end

local function run(apps, links)
  engine.configure(configuration(apps, links))
end

-- The same, with nothing of what ran before.
local function run_anew(apps, links)
  engine.configure(config.new())
  run(apps, links)
end

-- A chain in -> a1 -> ... -> an -> out of the class.
local function chain(n, kind, apps, links)
  apps, links = apps or {}, links or {}
  local from = "in"
  for i = 1, n do
    apps["a" .. i] = {kind}
    links[#links + 1] = ("%s.output -> a%d.input"):format(from, i)
    from = "a" .. i
  end
  links[#links + 1] = from .. ".output -> out.input"
  return apps, links
end

local OUT = "a2.output -> out.input"

describe("a region", function ()
  after_each(function ()
    engine.fuse = true
    engine.configure(config.new())
  end)

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

    it("passes packets through chains of every length up to 60", function ()
      for n = 1, 60 do passes(n) end
    end)

    it("passes packets through 1,000 apps, in 8 regions", function ()
      passes(1000)
      assert.equal(8, #engine.regions)
    end)

    it("may have more exits than a function may have variables", function ()
      for _, n in ipairs{10, 19, 20, 21, 50, 130, 250} do
        local outputs, apps, links = {}, {}, {"in.x -> split.i", "in.y -> split.j"}
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
        assert.equal(math.ceil((n + 1) / 128), #engine.regions)
        transmit(links[1], {string.char(1), string.char(n)})
        transmit(links[2], {string.char(n) .. "x"})
        engine.breathe()
        assert.same({string.char(1)}, take("p1.output -> out.i1"))
        local last = ("p%d.output -> out.i%d"):format(n, n)
        assert.same({string.char(n), string.char(n) .. "x"}, take(last))
        assert.same({2, 3, 2, 3, 0}, totals(("split.o%d -> p%d.input"):format(n, n)))
        assert.same({1, 2, 1, 2, 0}, totals(links[2]))
      end
    end)

    it("may end a long run of apps in many branches", function ()
      for _, n in ipairs{1, 5, 6, 7, 10, 60, 100} do
        local apps, links = chain(23, Pass)
        local outputs = {}
        links[#links] = "a23.output -> split.i"
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
        for i = 1, n do transmit(links[1], {string.char(i)}) end
        engine.breathe()
        for i = 1, n do
          assert.same({string.char(i)}, take(("p%d.output -> out.i%d"):format(i, i)))
        end
      end
    end)

    it("may be 300 runs of apps: a tree of branches", function ()
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

  describe("after an error in process()", function ()
    local Bad = class{process = function (_, p)
      if p.data[0] == 0 then error("zero!") end
      if p.data[0] == 1 then return 5 end
      if p.data[0] == 2 then require("core.failure").raise("a failed device") end
      return p
    end}
    local links = {"in.x -> a.i", "in.y -> a.j", "a.output -> bad.i",
                   "bad.output -> out.i"}

    -- What engine.breathe() raises.
    local function raised()
      local ok, err = pcall(engine.breathe)
      assert.is_false(ok)
      return tostring(err)
    end

    for _, fused in ipairs{true, false} do
      it("goes on where it was, fused: " .. tostring(fused), function ()
        packet.free(packet.allocate())
        local before = held()
        engine.fuse = fused
        run({a = {Pass}, bad = {Bad}}, links)
        transmit(links[1], {"ab", "\0bc", "d", "ef", "\0"})
        transmit(links[2], {"second"})
        local text = raised()
        assert.matches("^app 'bad': in process%(%): .*region_spec.lua:%d+: zero!", text)
        assert.matches("zero!", raised())
        engine.breathe()
        local got = take(links[4])
        table.sort(got)
        assert.same({"ab", "d", "ef", "second"}, got)
        assert.same({5, 9, 5, 9, 0}, totals(links[1]))
        assert.same({1, 6, 1, 6, 0}, totals(links[2]))
        assert.same({6, 15, 6, 15, 0}, totals(links[3]))
        assert.same({4, 11, 4, 11, 0}, totals(links[4]))
        assert.equal(before + 2, held()) -- those that the app hasn't given back
      end)
    end

    it("names the app that returns what is no packet", function ()
      run({a = {Pass}, bad = {Bad}}, links)
      transmit(links[1], {"\1"})
      assert.matches("^app 'bad': in process%(%): ", raised())
    end)

    it("says so in engine.main, and ends", function ()
      run({a = {Pass}, bad = {Bad}}, links)
      transmit(links[1], {"\2"})
      local ok, err = pcall(engine.main, {duration = 10, no_report = true})
      assert.is_false(ok)
      assert.equal("app 'bad': in process(): a failed device", tostring(err))
    end)

    it("says so as packets leave links that are fused", function ()
      engine.fuse = false
      run({a = {Pass}, bad = {Bad}}, links)
      transmit(links[3], {"a", "\0", "b"})
      engine.fuse = true
      local ok, err = pcall(run, {a = {Pass}, bad = {Bad}}, links)
      assert.is_false(ok)
      assert.matches("app 'bad': in process%(%): .*zero!", tostring(err))
      engine.breathe()
      assert.same({"a", "b"}, take(links[4]))
      assert.same({3, 3, 3, 3, 0}, totals(links[3]))
    end)

    it("names a bulk app", function ()
      run({a = {class{process_burst = function () error("bulk") end}}},
        {"in.x -> a.i", "a.output -> out.i"})
      transmit("in.x -> a.i", {"x"})
      assert.matches("^app 'a': in process_burst%(%): .*bulk", raised())
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
