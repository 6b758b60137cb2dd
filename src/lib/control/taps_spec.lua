-- SPDX-License-Identifier: Apache-2.0
-- Whoever watches a graph sees every packet on every link, and every drop, and changes
-- nothing: random graphs, watched, unwatched and changing between both, are compared.

local config = require("core.config")
local drops = require("core.fuse.drops")
local engine = require("core.app")
local graphs = require("testing.random_graphs")
local link = require("core.link")
local packet = require("core.packet")
local taps = require("lib.control.taps")

-- A tap that sees everything, and counts it.
local function counting()
  local tap = {links = {}, drops = {}, losses = true}
  local function count(list, key, n) list[key] = (list[key] or 0) + n end
  function tap.wants() return true end
  function tap.burst(_, spec, packets, n)
    for i = 0, n - 1 do assert(packets[i].length < 20000) end
    count(tap.links, spec, n)
    return true
  end
  function tap.seen(_, spec, p)
    assert(p.length < 20000)
    count(tap.links, spec, 1)
  end
  function tap.lost(_, app, reason) count(tap.drops, app .. ": " .. reason, 1) end
  function tap.kept() end
  function tap.after() end
  return tap
end

-- What an app outside of regions sends to itself may be gone before its next call.
local function unseen(spec)
  local from, _, to = config.parse_link(spec)
  return from == to
end

-- What came of it, and what the links and drops were in the end.
local function run(c, tap, fused, each)
  engine.fuse = fused
  engine.configure(c)
  if tap then taps.attach(tap) end
  graphs.run(each)
  local outcome, full = graphs.outcome()
  local seen = {links = {}, drops = {}}
  for spec, l in pairs(engine.link_table) do
    local n = link.stats(l).rxpackets
    if n > 0 and not unseen(spec) then seen.links[spec] = n end
    if tap and unseen(spec) then tap.links[spec] = nil end
  end
  for name, app in pairs(engine.app_table) do
    for reason, n in pairs(drops.of(app)) do
      if n > 0 then seen.drops[name .. ": " .. reason] = n end
    end
  end
  if tap then taps.detach(tap) end
  engine.configure(config.new())
  return outcome, seen, full
end

describe("taps", function ()
  after_each(function ()
    engine.fuse = true
    engine.configure(config.new())
  end)

  local seed = tonumber(os.getenv("FUSE_SEED") or os.time())

  local function compare(rounds, loops, emitting, fused, packets)
    math.randomseed(seed)
    packet.free(packet.allocate())
    local compared = 0
    for round = 1, rounds do
      local c, tap = graphs.random_graph(12, loops, packets, emitting), counting()
      local on, passing = false, counting()
      local plain, _, full1 = run(c, nil, fused)
      local watched, seen, full2 = run(c, tap, fused)
      local both, _, full3 = run(c, nil, fused, function (breath)
        if breath % 3 ~= 0 then return end
        if on then taps.detach(passing) else taps.attach(passing) end
        on = not on
      end)
      if on then taps.detach(passing) end
      if full1 + full2 + full3 == 0 then
        compared = compared + 1
        local at = ("round %d of seed %d"):format(round, seed)
        assert.same(plain, watched, at)
        assert.same(plain, both, at)
        assert.same(seen.links, tap.links, at)
        assert.same(seen.drops, tap.drops, at)
      end
    end
    assert.is_true(compared > rounds / 3, compared .. " compared")
  end

  it("see all of trees #slow", function () compare(5, false, false, true, 100) end)
  it("see all of loops #slow", function () compare(5, true, false, true, 100) end)
  it("see all that apps emit #slow", function () compare(5, true, true, true, 100) end)
  it("see all where nothing is fused #slow", function ()
    compare(4, true, true, false, 60)
  end)

  it("see all packets of many graphs #slow", function ()
    for _, emitting in ipairs{false, true} do
      for _, loops in ipairs{false, true} do compare(25, loops, emitting, true, 300) end
    end
    compare(5, false, true, true, 20000)
  end)

  it("cost nothing once they are gone: the same functions run as before", function ()
    local Fwd = require("apps.fwd.fwd").Fwd
    local basic = require("apps.basic.basic_apps")
    local c, tap = config.new(), counting()
    config.app(c, "from", basic.Source)
    config.app(c, "a", Fwd)
    config.app(c, "to", basic.Sink)
    config.link(c, "from.output -> a.input")
    config.link(c, "a.output -> to.input")
    engine.configure(c)
    local function functions()
      local calls = require("core.engine.graph").calls.pushes
      return {unpack(calls.push, 1, calls.n)}
    end
    local before = functions()
    taps.attach(tap)
    local between = functions()
    taps.detach(tap)
    local after = functions()
    for i = 1, #before do
      assert.is_true(rawequal(before[i], after[i]))
      assert.is_false(rawequal(before[i], between[i]))
    end
  end)
end)
