-- SPDX-License-Identifier: Apache-2.0

local cjson = require("cjson")
local health = require("program.web.health")
local history = require("program.web.history")

local function difference(pps, drops)
  return {engine = {pps = pps, bits = 8 * pps, load = 0.5, breaths = 1, sleeps = 0},
    drops = drops and {{name = "a: shut", pps = drops, packets = drops}} or {},
    devices = {}, tasks = {}}
end

local function now(pps, drops)
  return {links = {l = {pps = pps}}, apps = {a = {drops = drops
    and {{reason = "shut", pps = drops}} or nil}}, cycles = {{app = "a", cycles = 3},
      {app = "a", cycles = 4}, {name = "receive", cycles = 9}}}
end

describe("The history of an instance", function ()
  it("has points, totals and what was asked for", function ()
    local h = history.new():of(1)
    assert.is_nil(h:since(0))
    for i = 1, 3 do
      local drops = i == 2 and 5 or nil
      h:add(1000 + i, difference(i, drops), now(i, drops))
    end
    local all = h:since(0, {"link:l", "drops:a", "cycles:a", "link:none"})
    assert.equal(3, all.last)
    assert.same({1001, 1002, 1003}, all.times)
    assert.same({1, 2, 3}, all.pps)
    assert.same({0, 5, 0}, all.drops)
    assert.same({cjson.null, cjson.null, cjson.null}, all.breath)
    assert.same({1, 2, 3}, all.more["link:l"])
    assert.same({cjson.null, 5, cjson.null}, all.more["drops:a"])
    assert.same({7, 7, 7}, all.more["cycles:a"])
    assert.same({cjson.null, cjson.null, cjson.null}, all.more["link:none"])
    assert.same({3}, h:since(2).pps)
    assert.is_nil(h:since(3))
  end)

  it("is ten minutes long, and forgets what isn't any more", function ()
    local h = history.new():of(1)
    h:add(0, difference(7), {links = {old = {pps = 7}}, apps = {}})
    for i = 1, 2 * history.POINTS do h:add(i, difference(i), now(i)) end
    local all = h:since(0, {"link:l", "link:old"})
    assert.equal(history.POINTS, #all.pps)
    assert.same({601, 1200}, {all.pps[1], all.pps[history.POINTS]})
    assert.equal(history.POINTS, #all.more["link:l"])
    assert.equal(601, all.more["link:l"][1])
    assert.equal(cjson.null, all.more["link:old"][1])
    assert.is_nil(h.series["link:old"])
  end)

  it("has gaps where a series had no value", function ()
    local h = history.new():of(1)
    for i = 1, 1000 do
      local links = i % 400 == 0 and {l = {pps = i}} or {}
      h:add(i, difference(i), {links = links, apps = {}})
    end
    local values = h:since(0, {"link:l"}).more["link:l"]
    local known = {}
    for i, value in ipairs(values) do
      if value ~= cjson.null then known[#known + 1] = {400 + i, value} end
    end
    assert.same({{800, 800}}, known)
  end)

  it("is of processes that run", function ()
    local all = history.new()
    all:of(1):add(0, difference(1), now(1))
    all:of(2):add(0, difference(1), now(1))
    all:keep{[2] = true}
    assert.is_nil(all:of(1):since(0))
    assert.equal(1, all:of(2):since(0).last)
  end)
end)

describe("Health", function ()
  it("is told by a word and a reason", function ()
    local function check(word, reason, ...)
      local got, why = health.of(...)
      assert.equal(word, got)
      assert.matches(reason, why, 1, true)
    end
    check("good", "works", {}, difference(5), true)
    check("good", "idle", {}, difference(0), true)
    check("good", "no control socket", {}, difference(5), false)
    check("good", "reading", {}, nil, true)
    check("warning", "drops 12 a second", {}, difference(5, 12), true)
    check("bad", "port is gone", {last_good = "port is gone"}, difference(5), true)
    check("good", "stands by for r1", {standby = "r1"}, difference(0), true)
    local still = difference(0)
    still.engine.breaths = 0
    check("warning", "stands still", {}, still, true)
    still.jit = {problems = 2}
    check("warning", "perigee doctor", {}, still, true)
  end)
end)
