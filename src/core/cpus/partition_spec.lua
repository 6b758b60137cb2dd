-- SPDX-License-Identifier: Apache-2.0
-- Splitting configurations into parts.

local config = require("core.config")
local partition = require("core.cpus.partition")

local Class = {new = function () end}
local MAIN = partition.MAIN

local function graph(apps, links, cpus)
  local c = config.new()
  for _, name in ipairs(apps) do config.app(c, name, Class, name) end
  for _, spec in ipairs(links) do config.link(c, spec) end
  for name, cpu in pairs(cpus) do config.cpu(c, name, cpu) end
  return c
end

describe("core.cpus.partition", function ()
  it("leaves a graph without CPUs to the main thread", function ()
    local c = graph({"a", "b"}, {"a.x -> b.y"}, {})
    local parts, crossings = partition.of(c)
    assert.is_false(partition.is_placed(c))
    assert.same({}, crossings)
    assert.same({[MAIN] = {apps = c.apps, links = c.links, remote = {}}}, parts)
  end)

  it("puts stand-ins at the ends of links between places", function ()
    local c = graph({"a", "b", "d"}, {"a.x -> b.y", "b.z -> d.w", "d.q -> a.r"},
      {b = 1, d = 2})
    local parts, crossings = partition.of(c)
    local ab, bd, da = "a.x -> b.y: main to 1", "b.z -> d.w: 1 to 2",
      "d.q -> a.r: 2 to main"
    assert.same({
      [ab] = {spec = "a.x -> b.y", from = MAIN, to = 1},
      [bd] = {spec = "b.z -> d.w", from = 1, to = 2},
      [da] = {spec = "d.q -> a.r", from = 2, to = MAIN},
    }, crossings)
    assert.same({b = c.apps.b}, parts[1].apps)
    assert.same({["a.x -> b.y"] = true, ["b.z -> d.w"] = true}, parts[1].links)
    assert.same({a = {inputs = {}, outputs = {x = ab}, waits = {}},
                 d = {inputs = {w = bd}, outputs = {}, waits = {w = {apps = {"b"},
                 keys = {}}}}}, parts[1].remote)
    assert.same({b = {inputs = {y = ab}, outputs = {}, waits = {y = {apps = {"a"},
                 keys = {}}}},
                 d = {inputs = {}, outputs = {q = da}, waits = {}}},
      parts[MAIN].remote)
  end)

  it("gives every app to one part and every link to one or two", function ()
    math.randomseed(7)
    for _ = 1, 200 do
      local apps, links, cpus = {}, {}, {}
      for i = 1, math.random(1, 9) do
        apps[i] = "app" .. i
        local cpu = math.random(0, 3)
        cpus[apps[i]] = cpu > 0 and cpu or nil
      end
      for i = 1, math.random(0, 12) do
        links[i] = ("%s.o%d -> %s.i%d"):format(apps[math.random(#apps)], i,
          apps[math.random(#apps)], i)
      end
      local c = graph(apps, links, cpus)
      local parts, crossings = partition.of(c)
      local owner, count = {}, {}
      for place, p in pairs(parts) do
        for name in pairs(p.apps) do
          assert.is_nil(owner[name])
          owner[name] = place
        end
        for spec in pairs(p.links) do count[spec] = (count[spec] or 0) + 1 end
        for name in pairs(p.remote) do assert.is_nil(p.apps[name]) end
      end
      for _, name in ipairs(apps) do assert.equal(cpus[name] or MAIN, owner[name]) end
      local crossing = {}
      for _, x in pairs(crossings) do crossing[x.spec] = true end
      for _, spec in ipairs(links) do
        local from, _, to = config.parse_link(spec)
        assert.equal(owner[from] ~= owner[to], crossing[spec] == true)
        assert.equal(owner[from] ~= owner[to] and 2 or 1, count[spec])
      end
    end
  end)

  it("sees which parts are the same", function ()
    local function parts(cpus, arg)
      local c = graph({"a", "b", "d"}, {"a.x -> b.y", "b.z -> d.w"}, cpus)
      c.apps.d.arg = arg or c.apps.d.arg
      return (partition.of(c))
    end
    local before, after = parts{b = 1, d = 2}, parts{b = 1, d = 2}
    assert.is_true(partition.same(before[1], after[1]))
    after = parts({b = 1, d = 2}, "another")
    assert.is_true(partition.same(before[1], after[1]))
    assert.is_false(partition.same(before[2], after[2]))
    after = parts{b = 1, d = 3} -- the link's other end has moved
    assert.is_false(partition.same(before[1], after[1]))
    assert.is_false(partition.same(before[3], after[3]))
    assert.is_true(partition.same(nil, {apps = {}, links = {}, remote = {}}))
  end)

  it("takes out apps that move, with their links", function ()
    local c = graph({"a", "b", "d"}, {"a.x -> b.y", "b.z -> d.w"}, {a = 1, b = 1})
    local before = partition.of(c)
    local rest = partition.without_movers(before[1], {b = true})
    assert.same({apps = {a = c.apps.a}, links = {}, remote = {}}, rest)
    assert.is_nil(partition.without_movers(before[1], {}))
  end)

  it("refuses CPUs for apps that aren't there, and CPUs that aren't", function ()
    local c = graph({"a"}, {}, {})
    c.cpus = {ghost = 1}
    assert.error_matches(function () partition.of(c) end,
      "config.cpu names an app 'ghost'; the apps are: a")
    for _, cpu in ipairs{-1, 1.5, 5000, "1"} do
      assert.error_matches(function () config.cpu(c, "a", cpu) end,
        "a CPU is a whole number from 0 to 1023, not .*" .. tostring(cpu):sub(-1))
    end
    assert.error_matches(function () config.cpu(c, "a", 1, {again = true}) end,
      "config.cpu has no option 'again'; it takes restart")
  end)
end)
