-- SPDX-License-Identifier: Apache-2.0

local C = require("core.native")
local account = require("core.engine.account")
local config = require("core.config")
local engine = require("core.app")
local jit_health = require("core.watch.health")
local link = require("core.link")
local packet = require("core.packet")
local pool = require("core.pool")
local warm = require("core.engine.warm")

local function class(methods)
  function methods:new() return setmetatable({seen = 0}, {__index = methods}) end
  return methods
end

-- in -> a; a.output -> b -> out; a.other -> nothing; b drops and keeps packets.
local function graph(a, b)
  local c = config.new()
  local idle = class{push = function () end}
  config.app(c, "in", class{})
  config.app(c, "a", a)
  config.app(c, "b", b)
  config.app(c, "out", idle)
  config.link(c, "in.output -> a.input")
  config.link(c, "a.output -> b.input")
  config.link(c, "b.output -> out.input")
  return c
end

local function splitting(calls)
  return class{outputs = {"output", "other"}, process = function (self, p)
    calls.n = calls.n + 1
    self.seen = self.seen + 1
    return p, p.length > 1000 and 2 or 1
  end}
end

local function keeping()
  return class{drops = {"odd"}, process = function (self, p)
    self.seen = self.seen + 1
    if self.seen % 7 == 0 then self.kept = p return nil, 1 end
    p.length = p.length + 1
    return p
  end}
end

describe("warm", function ()
  local calls

  before_each(function ()
    engine.stop()
    calls = {n = 0}
    packet.free(packet.allocate()) -- the pool is there
  end)

  after_each(function ()
    engine.warm = false
    engine.stop()
  end)

  it("leaves nothing behind but compiled code", function ()
    engine.warm = false
    local before = account.packets(engine.link_table)
    local at_hand = C.pg_pool_available() + pool.freelist.nfree
    engine.warm = true
    engine.configure(graph(splitting(calls), keeping()))
    assert.is_true(calls.n > 2000)
    local after = account.packets(engine.link_table)
    assert.same(before, after)
    assert.equal(at_hand, C.pg_pool_available() + pool.freelist.nfree)
    for _, name in ipairs{"a", "b"} do
      assert.equal(0, engine.app_table[name].seen)
      assert.is_nil(engine.app_table[name].kept)
    end
    for spec, l in pairs(engine.link_table) do
      local stats = link.stats(l)
      stats.dtime = nil
      assert.same({rxpackets = 0, rxbytes = 0, txpackets = 0, txbytes = 0, txdrop = 0},
        stats, spec)
    end
    for _, n in pairs(engine.regions[1]:drops("b")) do assert.equal(0, n) end
  end)

  it("has packets go their way as without", function ()
    engine.warm = true
    engine.configure(graph(splitting(calls), class{process = function (_, p)
      return p
    end}))
    for i = 1, 300 do
      local p = packet.allocate()
      p.length = 60 + i
      link.transmit(engine.link_table["in.output -> a.input"], p)
    end
    engine.breathe()
    local out = engine.link_table["b.output -> out.input"]
    assert.equal(300, link.nreadable(out))
    for i = 1, 300 do
      local p = link.receive(out)
      assert.equal(60 + i, p.length)
      packet.free(p)
    end
  end)

  it("compiles the loop", function ()
    engine.warm = true
    local traces = jit_health.traces
    engine.configure(graph(splitting(calls), keeping()))
    assert.is_true(jit_health.traces > traces)
  end)

  it("is done once a region, and not at all unless asked for", function ()
    engine.warm = true
    local c = graph(splitting(calls), keeping())
    engine.configure(c)
    local n = calls.n
    engine.configure(c)
    assert.equal(n, calls.n)
    engine.stop()
    engine.warm = false
    engine.configure(c)
    assert.equal(n, calls.n)
  end)

  it("leaves out regions with an app that won't have it", function ()
    engine.warm = true
    local b = keeping()
    b.warm = false
    engine.configure(graph(splitting(calls), b))
    assert.equal(0, calls.n)
    local ok, why = warm.region(engine.regions[1])
    assert.is_false(ok)
    assert.matches("can't be warmed up", why)
  end)

  it("survives an app's error, which is for real packets to raise", function ()
    engine.warm = true
    local before = account.packets(engine.link_table)
    local bad = class{process = function (self, p)
      self.seen = self.seen + 1
      if self.seen == 100 then error("no more") end
      return p
    end}
    engine.configure(graph(splitting(calls), bad))
    assert.same(before, account.packets(engine.link_table))
    assert.equal(0, engine.app_table.b.seen)
  end)

  it("makes up frames that say what they are", function ()
    local traffic = require("core.engine.warm.traffic")
    local types, lengths = {}, {}
    for i = 0, 255 do
      local p = packet.allocate()
      traffic.fill(p, i)
      types[p.data[12] * 256 + p.data[13]] = true
      lengths[p.length] = true
      if p.data[12] == 8 and p.data[13] == 0 and p.data[22] == 64 then
        local sum = 0
        for at = 14, 32, 2 do sum = sum + p.data[at] * 256 + p.data[at + 1] end
        while sum > 0xffff do sum = sum % 0x10000 + math.floor(sum / 0x10000) end
        assert.equal(0xffff, sum)
      end
      packet.free(p)
    end
    assert.same({[0x0800] = true, [0x86dd] = true, [0x8100] = true, [0x0806] = true},
      types)
    assert.same({[60] = true, [590] = true, [1514] = true}, lengths)
  end)
end)
