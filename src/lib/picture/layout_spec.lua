-- SPDX-License-Identifier: Apache-2.0

local dot = require("lib.picture.dot")
local layout = require("lib.picture.layout")
local svg = require("lib.picture.svg")

-- A graph of lines such as "a.output -> b.input"; regions are lists of names.
local function graph(links, regions, fields)
  local g = {apps = {}, links = {}, regions = {}}
  local known = {}
  local function app(name)
    if known[name] then return end
    known[name] = {name = name, class = "Fwd"}
    for key, value in pairs(fields and fields[name] or {}) do
      known[name][key] = value
    end
    table.insert(g.apps, known[name])
  end
  for i, spec in ipairs(links) do
    local from, output, to, input = config.parse_link(spec)
    app(from)
    app(to)
    g.links[i] = {link = spec, from = from, output = output, to = to, input = input}
  end
  for i, names in ipairs(regions or {}) do
    g.regions[i] = {number = i, apps = names, cpu = known[names[1]].cpu}
    for _, name in ipairs(names) do known[name].region = i end
  end
  return g
end

local function chain(names)
  local links = {}
  for i = 2, #names do
    links[i - 1] = ("%s.output -> %s.input"):format(names[i - 1], names[i])
  end
  return links
end

local function by_name(picture)
  local boxes = {}
  for _, box in ipairs(picture.apps) do boxes[box.app.name] = box end
  return boxes
end

local function overlap(a, b)
  return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height
    and b.y < a.y + a.height
end

local function contains(a, b)
  return a.x <= b.x and a.y <= b.y and a.x + a.width >= b.x + b.width
    and a.y + a.height >= b.y + b.height
end

-- What is true of every picture.
local function check(g)
  local picture = layout.of(g)
  assert.equal(#g.apps, #picture.apps)
  assert.equal(#g.links, #picture.links)
  assert.equal(#g.regions, #picture.regions)
  local whole = {x = 0, y = 0, width = picture.width, height = picture.height}
  for i, a in ipairs(picture.apps) do
    assert.is_true(contains(whole, a))
    for k = 1, i - 1 do assert.is_false(overlap(a, picture.apps[k])) end
    for _, r in ipairs(picture.regions) do
      if a.app.region == r.number then
        assert.is_true(contains(r, a))
      else
        assert.is_false(overlap(a, r))
      end
    end
  end
  for i, r in ipairs(picture.regions) do
    assert.is_true(contains(whole, r))
    for k = 1, i - 1 do assert.is_false(overlap(r, picture.regions[k])) end
  end
  for _, link in ipairs(picture.links) do
    local first, last = link.points[1], link.points[#link.points]
    assert.equal(link.back or false, last[1] <= first[1])
  end
  return picture
end

describe("The layout of a graph", function ()
  it("goes from left to right, straight on where it can", function ()
    local boxes = by_name(check(graph(chain{"a", "b", "c"}, {{"b"}})))
    assert.is_true(boxes.a.x < boxes.b.x and boxes.b.x < boxes.c.x)
    assert.equal(boxes.a.y, boxes.b.y)
    assert.equal(boxes.b.y, boxes.c.y)
  end)

  it("leads links around what they pass by", function ()
    local picture = check(graph{"a.output -> b.input", "b.output -> c.input",
      "a.other -> c.other"})
    local boxes = by_name(picture)
    local points = picture.links[3].points
    assert.equal(4, #points)
    for i = 2, 3 do
      local y = points[i][2]
      assert.is_true(y < boxes.b.y or y > boxes.b.y + boxes.b.height)
    end
  end)

  it("draws loops, and apps without links", function ()
    local g = graph({"p.output -> a.input", "a.output -> p.input", "a.x -> a.y"})
    g.apps[#g.apps + 1] = {name = "alone"}
    local picture = check(g)
    assert.is_true(picture.links[2].back)
    check(graph({}, {}))
  end)

  it("of any graph has no two things in one place", function ()
    math.randomseed(5)
    for _ = 1, 12 do
      local n, links = math.random(1, 40), {}
      for i = 1, math.random(0, 2 * n) do
        local a, b = math.random(n), math.random(n)
        links[i] = ("a%d.o%d -> a%d.i%d"):format(a, i, b, i)
      end
      local g = graph(links)
      local regions = {}
      for i, app in ipairs(g.apps) do
        local region = math.random(0, 5)
        if region > 0 then
          regions[region] = regions[region] or {}
          table.insert(regions[region], app)
        elseif i % 2 == 0 then
          app.pulls = true
        end
      end
      for _, apps in pairs(regions) do
        local number, names = #g.regions + 1, {}
        for i, app in ipairs(apps) do app.region, names[i] = number, app.name end
        g.regions[number] = {number = number, apps = names}
      end
      check(g)
    end
  end)
end)

local ODD = {["a"] = {port = 'pcap:rx="<&>\1.pcap', cpu = 3}, b = {cpu = 7}}

describe("A picture", function ()
  it("in SVG has every app, link and region, by names that are escaped", function ()
    local text = svg.text(graph({"a.output -> b.in1", "b.x -> a.input"}, {{"b"}}, ODD))
    assert.equal(2, select(2, text:gsub('class="app cpu%d" data%-app="[ab]"', "")))
    assert.equal(2, select(2, text:gsub('class="link" data%-link="', "")))
    assert.matches("region 1, CPU 7", text, 1, true)
    assert.matches("pcap:rx=&quot;&lt;&amp;&gt;?.pcap", text, 1, true)
    assert.matches('data-link="a.output -&gt; b.in1"', text, 1, true)
    assert.is_nil(text:find("\1", 1, true))
    local opened = select(2, text:gsub("<g", ""))
    assert.equal(opened, select(2, text:gsub("</g>", "")))
  end)

  it("for Graphviz has frames", function ()
    assert.equal([[
digraph perigee {
  rankdir=LR;
  node [shape=box, fontname=sans, fontsize=10];
  edge [fontname=sans, fontsize=8];
  subgraph "cluster_cpu_3" {
  label="CPU 3";
  "a" [label="a\npcap:rx=\"<&>?.pcap"];
  }
  subgraph "cluster_cpu_7" {
  label="CPU 7";
  subgraph "cluster_region_1" {
  label="region 1";
  "b" [label="b\nFwd"];
  }
  }
  "a" -> "b" [taillabel="", headlabel="in1"];
}
]], dot.text(graph({"a.output -> b.in1"}, {{"b"}}, ODD)))
  end)
end)
