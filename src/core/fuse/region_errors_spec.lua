-- SPDX-License-Identifier: Apache-2.0
-- Regions after errors in process(): the burst is put in order, and the app named.

local config = require("core.config")
local engine = require("core.app")
local packet = require("core.packet")
local regions = require("testing.regions")
local packet_paths = require("core.fuse.packet_paths")
local testing = require("testing.support")
local texts = require("testing.texts")

local held, take, totals, transmit = texts.held, texts.take, texts.totals, texts.send
local class, run = regions.class, regions.run
local Pass = regions.Pass

describe("a region", function ()
  after_each(function ()
    packet_paths.note("a", nil)
    engine.fuse = true
    engine.configure(config.new())
  end)

  describe("after an error in process()", function ()
    local Bad = class{outputs = {"output", "other"}, process = function (_, p)
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

    for _, form in ipairs{"alone", "fused", "spread"} do
      it("goes on where it was: " .. form, function ()
        packet.free(packet.allocate())
        local before = held()
        engine.fuse = form ~= "alone"
        packet_paths.note("a", form == "spread")
        run({a = {Pass}, bad = {Bad}}, links)
        transmit(links[1], {"ab", "\0bc", "d", "ef", "\0"})
        transmit(links[2], {"second"})
        local text = raised()
        assert.matches("^app 'bad': in process%(%): .*errors_spec.lua:%d+: zero!", text)
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

    -- In processes of their own, several: what was wrong here ended some of them.
    local ENDLESS = [[
      local basic = require("apps.basic.basic_apps")
      local Pass = {}
      function Pass:new() return {process = function (_, p) return p end} end
      local Endless = {}
      Endless.__index = Endless
      function Endless:new() return setmetatable({left = %d}, self) end
      function Endless:walk(p) return 1 + self:walk(p) end
      function Endless:process(p)
        self.left = self.left - 1
        if self.left < 0 then self:walk(p) end
        return p
      end
      local c = config.new()
      config.app(c, "source", basic.Source)
      config.app(c, "pass", Pass)
      config.app(c, "endless", Endless)
      config.app(c, "sink", basic.Sink)
      config.link(c, "source.output -> pass.input")
      config.link(c, "pass.output -> endless.input")
      config.link(c, "endless.output -> sink.input")
      engine.configure(c)
      engine.main{duration = 5}]]

    it("survives recursion without end #slow", function ()
      for run_number = 1, 10 do
        local said, status = testing.script(ENDLESS:format(500 * run_number),
          {"--eal", "--no-huge"})
        assert.equal(1, status, said)
        -- Compiled code may have left no more on the stack than the region's call.
        local whose = said:match(
          "perigee: ([^\n]-): in process%(%): [^\n]*stack overflow")
        if whose ~= "the region of pass, endless" then
          assert.equal("app 'endless'", whose, said)
          assert.matches("held by apps [12]\n", said) -- the source's, that at hand
        end
      end
    end)

    it("names a bulk app", function ()
      run({a = {class{process_burst = function () error("bulk") end}}},
        {"in.x -> a.i", "a.output -> out.i"})
      transmit("in.x -> a.i", {"x"})
      assert.matches("^app 'a': in process_burst%(%): .*bulk", raised())
    end)
  end)
end)
