-- SPDX-License-Identifier: Apache-2.0
-- Conservation: in random graphs, over random breaths and reconfigurations, no
-- packet is lost or made up. What apps say they hold is all that is held.

local basic = require("apps.basic.basic_apps")
local account = require("core.engine.account")
local config = require("core.config")
local counter = require("core.counter")
local engine = require("core.app")
local fwd = require("apps.fwd.fwd")
local link = require("core.link")
local mode = require("core.check.mode")
local packet = require("core.packet")
local pool = require("core.pool")
local port = require("apps.port.port")
local C = require("core.native")

-- Classes with the number of inputs and outputs they may have, an argument, and
-- how many packets an app of the class holds.
local function none() return 0 end
local KINDS = {
  {basic.Source, 0, 3, function () return math.random(0, 1600) end,
    held = function () return 1 end},
  {basic.Tee, 3, 3, none, held = none},
  {basic.Split, 3, 3, none, held = none},
  {basic.Join, 3, 1, none, held = none},
  {fwd.Fwd, 1, 1, none, held = none},
  {basic.Sample, 1, 1, function () return math.random(5) end, held = none},
  {basic.Truncate, 1, 1, function () return math.random(0, 3000) end, held = none},
  {basic.Repeater, 1, 1, none, held = function (app) return #app.packets end},
  {basic.Sink, 4, 0, none, held = none},
  {port.Port, 1, 1, function () return "null:size=" .. math.random(14, 9000) end,
    held = none},
}

-- Input and output names: one each has the name that apps with one look for.
local function input_name(kind, i) return kind[2] == 1 and "input" or "i" .. i end
local function output_name(kind, i) return kind[3] == 1 and "output" or "o" .. i end

-- A random configuration with loops and unlinked apps, and the held function of
-- each app by name.
local function random_graph()
  local c, apps, outputs, inputs, held = config.new(), math.random(1, 12), {}, {}, {}
  for a = 1, apps do
    local kind, name = KINDS[math.random(#KINDS)], "app" .. a
    config.app(c, name, kind[1], kind[4]())
    held[name] = kind.held
    for i = 1, kind[2] do inputs[#inputs + 1] = name .. "." .. input_name(kind, i) end
    for i = 1, kind[3] do
      outputs[#outputs + 1] = name .. "." .. output_name(kind, i)
    end
  end
  for _, output in ipairs(outputs) do
    if #inputs > 0 and math.random(4) > 1 then
      local input = table.remove(inputs, math.random(#inputs))
      config.link(c, output .. " -> " .. input)
    end
  end
  return c, held
end

local function assert_conserved(before, held)
  local expected = before
  for name, app in pairs(engine.app_table) do expected = expected + held[name](app) end
  assert.equal(expected, account.packets(engine.link_table).held)
  if mode.on then -- one by one
    assert.equal(expected, require("core.check.held").count())
  end
end

local function outside_of_pool()
  return C.pg_pool_size() - C.pg_pool_available() - pool.freelist.nfree
    - pool.freelist.aside
end

describe("the account of packets", function ()
  after_each(function () engine.configure(config.new()) end)

  local seed = os.time()
  it(("balances in random graphs #slow (seed %d)"):format(seed), function ()
    math.randomseed(seed)
    packet.free(packet.allocate())
    local before = account.packets({}).held
    local outside = outside_of_pool()
    for _ = 1, mode.on and 5 or 25 do
      local c, held = random_graph()
      engine.configure(c)
      assert_conserved(before, held)
      for _ = 1, math.random(30) do engine.breathe() end
      assert_conserved(before, held)
    end
    engine.configure(config.new())
    assert.equal(before, account.packets({}).held)
    assert.equal(outside, outside_of_pool())
  end)

  it("tells what was received, sent, freed and waits", function ()
    local c = config.new()
    config.app(c, "port", port.Port, "null:size=100")
    config.app(c, "tee", basic.Tee)
    config.app(c, "sink", basic.Sink)
    config.app(c, "idle", {new = function () return {} end})
    config.link(c, "port.output -> tee.input")
    config.link(c, "tee.a -> port.input")
    config.link(c, "tee.b -> sink.input")
    config.link(c, "tee.c -> idle.input")
    local before = account.packets({})
    engine.configure(c)
    engine.breathe()
    local now = account.packets(engine.link_table)
    local n = now.received - before.received
    assert.is_true(n >= 32)
    assert.equal(2 * n, now.allocated - before.allocated)
    assert.equal(n, now.sent - before.sent)
    assert.equal(n, now.freed - before.freed)
    assert.equal(n, now.in_links)
    assert.equal(before.held, now.held)
    assert.equal(n, link.nreadable(engine.app_table.idle.input.input))
  end)

  it("counts as frees what apps freed and ports sent", function ()
    local c = config.new()
    config.app(c, "port", port.Port, "null:size=40")
    config.app(c, "tee", basic.Tee)
    config.app(c, "sink", basic.Sink)
    config.link(c, "port.output -> tee.input")
    config.link(c, "tee.a -> port.input")
    config.link(c, "tee.b -> sink.input")
    engine.configure(c)
    local function sums()
      local list = {}
      for i, name in ipairs{"frees", "freebytes", "freebits"} do
        list[i] = tonumber(counter.read(engine[name]))
      end
      return list
    end
    engine.main{duration = 0, no_report = true}
    local n = engine.app_table.port:statistics().opackets
    assert.is_true(n > 0)
    local was = sums()
    engine.main{duration = 0, no_report = true}
    local more = 2 * (engine.app_table.port:statistics().opackets - n)
    local is = sums()
    -- 40 bytes are padded to 60, and 24 more go over the wire.
    assert.same({more, more * 40, more * 84 * 8},
      {is[1] - was[1], is[2] - was[2], is[3] - was[3]})
  end)

  it("finds a packet that an app loses", function ()
    local before = account.packets({}).held
    local p = packet.allocate()
    assert.equal(before + 1, account.packets({}).held)
    packet.free(p)
    assert.equal(before, account.packets({}).held)
  end)
end)
