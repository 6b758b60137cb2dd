-- SPDX-License-Identifier: Apache-2.0

local fold = require("lib.picture.fold")
local graphviz = require("lib.picture.graphviz")
local svg = require("lib.picture.svg")

local function graph(names, links)
  local g = {apps = {}, links = {}, regions = {}}
  for i, name in ipairs(names) do g.apps[i] = {name = name, class = "Fwd"} end
  for i, spec in ipairs(links) do
    local from, output, to, input = config.parse_link(spec)
    g.links[i] = {link = spec, from = from, output = output, to = to, input = input}
  end
  return g
end

-- What Graphviz 2.42 answers for a -> b in a cluster (shortened).
local ANSWER = [[{"bb": "0,0,330,62", "objects": [
  {"name": "cluster_1", "bb": "8,8,120,54", "nodes": [1]},
  {"_gvid": 1, "name": "n1", "pos": "64,31"},
  {"_gvid": 2, "name": "n2", "pos": "282,31"}],
  "edges": [{"id": "1", "tail": 1, "head": 2,
    "pos": "e,234,31 112,31 150,31 186,41 224,31"}]}]]

describe("Graphviz", function ()
  it("is given numbers, and no names", function ()
    local g = graph({'a"rm', "b"}, {})
    g.links[1] = {from = 'a"rm', output = "output", to = "b", input = "input"}
    g.apps[1].region, g.regions[1] = 1, {number = 1, apps = {'a"rm'}}
    local source = graphviz.source(g)
    assert.is_nil(source:find("rm", 1, true))
    assert.matches('subgraph cluster_1 { margin=16; label=" "; n1; }', source, 1,
      true)
    assert.matches('n1 -> n2 [id="1"];', source, 1, true)
  end)

  it("says where all is", function ()
    local g = graph({"a", "b"}, {"a.output -> b.input"})
    g.regions[1] = {number = 1, apps = {"a"}}
    local picture = graphviz.read(g, ANSWER)
    assert.equal("M136.0,71.0 C174.0,71.0 210.0,61.0 248.0,71.0 L258.0,71.0",
      picture.links[1].path)
    assert.same({{136, 71}, {258, 71}}, picture.links[1].points)
    assert.same({number = 1, x = 32, y = 48, width = 112, height = 46},
      picture.regions[1])
    assert.equal(88, picture.apps[1].x + picture.apps[1].width / 2)
    assert.matches('data-link="a.output -&gt; b.input"', svg.text(g, true, picture), 1,
      true)
  end)

  it("that answers something else is no picture", function ()
    local g = graph({"a", "b"}, {"a.output -> b.input"})
    for _, answer in ipairs{"", "null", "[]", "{}", '{"bb": 7}', '{"bb": "0,0"}',
        '{"bb": "0,0,1,1"}', (ANSWER:gsub('"n2"', '"n3"')),
        (ANSWER:gsub("e,.-31\"", '"')),
        (ANSWER:gsub('"id": "1"', '"id": "2"')), ANSWER:sub(1, -3)} do
      assert.is_nil(graphviz.read(g, answer), answer)
    end
  end)
end)

describe("Compounds", function ()
  local g = graph({"in", "r/a", "r/s/x", "r/s/y", "out", "alone/z"}, {
    "in.0 -> r/a.0", "r/a.0 -> r/s/x.0", "r/s/x.0 -> r/s/y.0", "r/s/y.1 -> out.0"})

  it("are found by the names of elements", function ()
    assert.same({{name = "r", apps = {"r/a", "r/s/x", "r/s/y"}},
      {name = "r/s", apps = {"r/s/x", "r/s/y"}}}, fold.compounds(g))
  end)

  local function shown(folded)
    local names, links = {}, {}
    local f = fold.of(g, folded)
    for i, app in ipairs(f.apps) do names[i] = app.name end
    for i, l in ipairs(f.links) do links[i] = l.from .. " " .. l.to end
    return names, links, f
  end

  it("that are folded are one box, with the links of its edge", function ()
    local names, links, f = shown{r = true, ["r/s"] = true}
    assert.same({"in", "r", "out", "alone/z"}, names)
    assert.same({"in r", "r out"}, links)
    assert.same({"r/a", "r/s/x", "r/s/y"}, f.apps[2].members)
    assert.equal("r/s/y.1 -> out.0", f.links[2].link)
    names, links = shown{["r/s"] = true}
    assert.same({"in", "r/a", "r/s", "out", "alone/z"}, names)
    assert.same({"in r/a", "r/a r/s", "r/s out"}, links)
    names = shown{other = true}
    assert.equal(6, #names)
  end)
end)
