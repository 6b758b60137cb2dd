-- SPDX-License-Identifier: Apache-2.0
-- The order of a breath, by the order's own property (a link comes after all
-- those that lead to it) over random graphs, and by what apps see.

local config = require("core.config")
local engine = require("core.app")
local order = require("core.engine.order")
local testing = require("testing.support")

local function links_of(specs)
  local links = {}
  for _, spec in ipairs(specs) do links[config.canonical_link(spec)] = true end
  return links
end

-- Every link once; and, when the graph has no loop, after those that lead to it, but
-- for what pulling apps send.
local function check(links, acyclic, pulling)
  pulling = pulling or {}
  local place, into = {}, {}
  local sorted = order.links(links, pulling)
  for i, spec in ipairs(sorted) do
    assert.is_nil(place[spec], "twice: " .. spec)
    assert.is_true(links[spec])
    place[spec] = i
    local _, _, to = config.parse_link(spec)
    into[to] = math.max(into[to] or 0, i)
  end
  for spec in pairs(links) do
    assert.is_number(place[spec], "left out: " .. spec)
    local from = config.parse_link(spec)
    if acyclic and not pulling[from] and (into[from] or 0) > place[spec] then
      error(("%s comes before a link that leads to it"):format(spec))
    end
  end
  return sorted
end

-- Random links between `n` apps; in an acyclic graph the names' order, which
-- breaks ties, has nothing to do with the way of the packets.
local function random_links(n, count, acyclic)
  local names, links = {}, {}
  for i = 1, n do names[i] = ("n%d"):format((i * 7919) % 10007) end
  for i = 1, count do
    local a, b = math.random(n), math.random(n)
    if acyclic and a > b then a, b = b, a end
    if not acyclic or a ~= b then
      links[("%s.o%d -> %s.i%d"):format(names[a], i, names[b], i)] = true
    end
  end
  return links
end

describe("the order of links", function ()
  local seed = os.time()
  before_each(function () math.randomseed(seed) end)

  it(("follows the packets in random graphs (seed %d) #slow"):format(seed), function ()
    for _ = 1, 200 do
      local n = math.random(2, 30)
      local links, pulling = random_links(n, math.random(0, 3 * n), true), {}
      for spec in pairs(links) do
        if math.random(3) == 1 then pulling[config.parse_link(spec)] = true end
      end
      check(links, true, pulling)
    end
  end)

  -- The order as Snabb's manual and behaviour have it: depth-first from the links that
  -- leave pulling apps, then from all, each in the order of "APP.INPUT"; what is done
  -- last comes first. Links that lead to a pulling app lead no further.
  local function as_snabb(links, pulling)
    local names, leaving = {}, {}
    for spec in pairs(links) do
      local from, _, to, input = config.parse_link(spec)
      names[#names + 1] = {spec = spec, from = from, to = to, key = to .. "." .. input}
    end
    table.sort(names, function (a, b) return a.key < b.key end)
    for _, l in ipairs(names) do
      leaving[l.from] = leaving[l.from] or {}
      table.insert(leaving[l.from], l)
    end
    local seen, done = {}, {}
    local function visit(l)
      if seen[l] then return end
      seen[l] = true
      for _, after in ipairs(not pulling[l.to] and leaving[l.to] or {}) do
        visit(after)
      end
      table.insert(done, 1, l.spec)
    end
    for _, l in ipairs(names) do if pulling[l.from] then visit(l) end end
    for _, l in ipairs(names) do visit(l) end
    return done
  end

  it("is Snabb's, also where names alone decide", function ()
    for i = 1, 600 do
      local n = math.random(2, 20)
      local links, pulling = random_links(n, math.random(0, 3 * n), i % 2 == 0), {}
      for spec in pairs(links) do
        if math.random(2) == 1 then pulling[config.parse_link(spec)] = true end
      end
      assert.same(as_snabb(links, pulling), order.links(links, pulling))
    end
    -- Two ports, with a chain each way: each pulls, and pushes.
    local links = links_of{"p.tx -> b.in", "b.out -> q.rx", "q.tx -> a.in",
      "a.out -> p.rx", "p.tx2 -> c.in", "c.out -> q.rx2"}
    local ports = {p = true, q = true}
    assert.same(as_snabb(links, ports), order.links(links, ports))
  end)

  it("has every link of graphs with loops", function ()
    for _ = 1, 200 do
      local n = math.random(1, 12)
      check(random_links(n, math.random(0, 3 * n), false), false)
    end
  end)

  it("goes round a loop from where packets come in", function ()
    assert.same({"source.o -> a.i", "a.o -> b.i", "b.o -> c.i", "c.o -> a.j"},
      check(links_of{"a.o -> b.i", "b.o -> c.i", "c.o -> a.j", "source.o -> a.i"}))
    assert.same({"a.o -> a.i"}, check(links_of{"a.o -> a.i"}))
    local pair = check(links_of{"a.o -> b.i", "b.o -> a.i"})
    assert.equal(2, #pair)
  end)

  it("cuts loops at apps that pull, whatever their names", function ()
    for _, p in ipairs{"a", "z"} do
      local pulling = {[p] = true}
      assert.same({p .. ".o -> m.i", "m.o -> n.i", "n.o -> " .. p .. ".i"},
        check(links_of{"m.o -> n.i", "n.o -> " .. p .. ".i", p .. ".o -> m.i"},
          false, pulling))
      -- Both what comes from s and what p pulls passes m before m is pushed on.
      local sorted = check(links_of{"s.o -> m.i", "m.o -> " .. p .. ".i",
        p .. ".o -> m.j"}, false, {s = true, [p] = true})
      assert.equal("m.o -> " .. p .. ".i", sorted[3])
    end
  end)

  it("carries packets of random loops through ports in one breath", function ()
    for _ = 1, 100 do
      local links, pulling, ports = {}, {}, math.random(1, 4)
      for p = 1, ports do -- port -> a random way over middle apps -> port
        pulling["p" .. p * 37 % 11] = true
      end
      local names = config.sorted_keys(pulling)
      for i = 1, #names do
        local from = names[i]
        for hop = 1, math.random(0, 4) do
          local to = ("m%d"):format((hop * 5 + i * 3) % 17 + 20 * i)
          links[("%s.o%d -> %s.i%d"):format(from, i, to, i)] = true
          from = to
        end
        local last = names[math.random(#names)]
        links[("%s.x%d -> %s.i%d"):format(from, i, last, i)] = true
      end
      local place = {}
      for at, spec in ipairs(check(links, false, pulling)) do place[spec] = at end
      for spec in pairs(links) do
        for other in pairs(links) do
          local _, _, to = config.parse_link(spec)
          if config.parse_link(other) == to and not pulling[to] then
            assert.is_true(place[spec] < place[other])
          end
        end
      end
    end
  end)

  it("is told a line a call, for who asks from outside", function ()
    local function push(app, method, ...)
      local region = ... and {description = {apps = {...}}}
      return {app = app, method = method, region = region or nil}
    end
    local list = {pulls = {"source"}, pushes = {push("sink", "push"),
      push("a", "process", "a"), push("b", "process", "b", "c"),
      push("d", "process", "d", "e", "f", "g", "h", "i", "j")}}
    assert.equal(table.concat({"app 'source': in pull()", "app 'sink': in push()",
      "app 'a': in process()", "the region of b, c: in process()",
      "the region of d, e, f, g, h, i and others: in process()",
      "app 'source': in tick()"}, "\n"), order.text(list, {{appname = "source"}}))
  end)

  it("is the same whatever the order of the table", function ()
    local links = random_links(20, 50, true)
    local specs = config.sorted_keys(links)
    local first = order.links(links, {})
    for _ = 1, 5 do
      local again = {}
      for i = #specs, 1, -1 do
        local at = math.random(i)
        again[specs[at]] = true
        specs[at], specs[i] = specs[i], specs[at]
      end
      assert.same(first, order.links(again, {}))
    end
  end)

  it("of a chain of 5,000 apps is the chain, whatever their names #slow", function ()
    for _, step in ipairs{1, 1499} do
      local links, name = {}, function (i) return "n" .. i * step % 5003 end
      for i = 1, 5000 do
        links[("%s.output -> %s.input"):format(name(i), name(i + 1))] = true
      end
      for i, spec in ipairs(check(links, true)) do
        assert.equal(name(i), (config.parse_link(spec)))
      end
    end
  end)
end)

describe("a breath", function ()
  local log
  before_each(function () log = {} end)
  after_each(function () engine.configure(config.new()) end)

  local function breathe(classes, specs)
    local c = config.new()
    for name, class in pairs(classes) do config.app(c, name, class, name) end
    for _, spec in ipairs(specs) do config.link(c, spec) end
    engine.configure(c)
    for i = #log, 1, -1 do log[i] = nil end
    engine.breathe()
    return log
  end

  it("pulls by name, then pushes along the links", function ()
    local Both = testing.noting_class(log, {"pull", "push"})
    assert.same({"a pull", "b pull", "z pull", "b push", "a push"},
      breathe({b = Both, a = Both, z = Both}, {"z.o -> a.i", "a.o -> b.i"}))
  end)

  it("pushes an app once for inputs that come one after the other", function ()
    local Push = testing.noting_class(log, {"push"})
    assert.same({"join push"}, breathe({s = Push, join = Push},
      {"s.x -> join.a", "s.y -> join.b", "s.z -> join.c"}))
  end)

  it("pushes it again for an input that comes later", function ()
    local Push = testing.noting_class(log, {"push"})
    local pushes = breathe({s = Push, mid = Push, join = Push},
      {"s.a -> join.a", "s.b -> mid.b", "mid.c -> join.c"})
    assert.equal("join push", pushes[#pushes])
    assert.is_true(#pushes == 2 or #pushes == 3)
  end)

  it("calls push_link of a link in the place of push", function ()
    local Special = testing.noting_class(log, {"push"})
    local seen = {}
    Special.push_link = {
      x = function (app, l)
        log[#log + 1] = app.name .. " push_link"
        seen[#seen + 1] = l
      end,
    }
    assert.same({"b push", "b push_link"}, -- last name first
      breathe({a = Special, b = Special}, {"a.o -> b.x", "a.p -> b.y"}))
    assert.same({engine.app_table.b.input.x}, seen)
  end)

  it("leaves out apps without pull or push", function ()
    local Neither = testing.noting_class(log, {})
    assert.same({}, breathe({a = Neither, b = Neither}, {"a.o -> b.i"}))
  end)

  it("carries a packet through 300 apps #slow", function ()
    local basic = require("apps.basic.basic_apps")
    local Fwd = require("apps.fwd.fwd").Fwd
    local link = require("core.link")
    local packet = require("core.packet")
    local c, from = config.new(), "source"
    local Once = {new = function (class) return setmetatable({}, {__index = class}) end}
    function Once:pull()
      if not self.done then link.transmit(self.output.output, packet.allocate()) end
      self.done = true
    end
    config.app(c, "source", Once)
    for i = 1, 300 do
      local name = "n" .. i * 1499 % 5003
      config.app(c, name, Fwd)
      config.link(c, ("%s.output -> %s.input"):format(from, name))
      from = name
    end
    config.app(c, "sink", basic.Sink)
    config.link(c, from .. ".output -> sink.input")
    engine.configure(c)
    engine.breathe()
    local last = engine.app_table.sink.input.input
    assert.equal(1, link.stats(last).rxpackets)
    engine.configure(config.new())
    assert.is_nil(next(engine.link_table))
  end)
end)
