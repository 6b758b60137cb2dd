-- SPDX-License-Identifier: Apache-2.0
-- For specs: random graphs of apps whose decisions follow from the packet alone, so
-- that the same must come of them however they are run; and a record of what did.

local account = require("core.engine.account")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local drops = require("core.fuse.drops")
local engine = require("core.app")
local fwd = require("apps.fwd.fwd")
local link = require("core.link")
local port = require("apps.port.port")
local random_apps = require("testing.random_apps")

local testing = {}

local CLASSES, EMITTING = {}, {}
for n = 0, 4 do CLASSES[n] = random_apps.class(n) end
CLASSES[10] = random_apps.class(10)
local STEADY = {}
for i, by in ipairs{14, -14, 0} do STEADY[i] = random_apps.steady_class(i, by) end
for n = 1, 3 do EMITTING[n] = random_apps.emitting_class(n) end

local Feeder, Collector = random_apps.Feeder, random_apps.Collector
local Fork, Bulk, Old = random_apps.Fork, random_apps.Bulk, random_apps.Old

testing.class, testing.Feeder, testing.Collector = random_apps.class, Feeder, Collector

-- Graphs ----------------------------------------------------------------------

local random = math.random

-- Snabb's way: class, number of inputs and outputs, their names.
local NEIGHBOURS = {
  {Fork, 2, 2}, {Bulk, 2, 2, 5}, {Bulk, 1, 2, 7}, {Bulk, 1, 2, 3}, {basic.Join, 3, 1},
  {basic.Truncate, 1, 1, 60}, {fwd.Fwd, 1, 1}, {Old, 1, 1, 11}, {Old, 1, 1, 13},
}

-- Link the nodes' outputs to later nodes' inputs at random. With `loops` those that
-- count hops may lead anywhere. What sources give goes somewhere in any case.
local function join(c, nodes, loops)
  config.app(c, "rest", Collector)
  for i, node in ipairs(nodes) do
    local back = loops and c.apps[node.name].class.counts_hops
    for _, output in ipairs(node.outputs) do
      local to = nodes[back and random(#nodes) or math.min(i + random(4), #nodes)]
      local from = ("%s.%s -> "):format(node.name, output)
      if #to.inputs > 0 and (to ~= node or back) and random(8) > 1 then
        local at = random(#to.inputs)
        local input = to.inputs[at]
        if not to.takes_many or random(3) > 1 then table.remove(to.inputs, at) end
        config.link(c, ("%s%s.%s"):format(from, to.name, input))
      elseif node.source or c.apps[node.name].class.must_send then
        config.link(c, from .. "rest." .. node.name)
      end
    end
  end
end

--- A random configuration of up to `most` per-packet apps, their neighbours, sources
--- and sinks; `loops` allows links back. Each source has up to `packets`. With
--- `emitting` some apps emit, and inputs may take several links.
function testing.random_graph(most, loops, packets, emitting)
  local c, nodes = config.new(), {}
  local function add(name, class, arg, inputs, outputs)
    config.app(c, name, class, arg)
    nodes[#nodes + 1] = {name = name, inputs = inputs, outputs = outputs}
  end
  local rings = 0
  local function ring()
    rings = rings + 1
    return "ring:fuse" .. rings
  end
  for i = 1, random(2) do
    local feeder = {first = i * 100000, count = random(packets), rate = random(60),
                    hops = random(2, 12)}
    local kind = emitting and random(2) == 1 and random_apps.EmittingFeeder or Feeder
    config.app(c, "feeder" .. i, kind, feeder)
    if random(2) == 1 then
      nodes[#nodes + 1] = {name = "feeder" .. i, inputs = {}, outputs = {"output"},
                           source = true}
    else
      local name = ring()
      config.app(c, "wire" .. i, port.Port, name)
      config.link(c, ("feeder%d.output -> wire%d.input"):format(i, i))
      add("port" .. i, port.Port, name, {}, {"output"})
      nodes[#nodes].source = true
    end
  end
  for i = 1, random(most) do
    if random(4) == 1 then
      local kind = NEIGHBOURS[random(#NEIGHBOURS)]
      local inputs = {"input", "i2", "i3"}
      for k = #inputs, kind[2] + 1, -1 do inputs[k] = nil end
      add("n" .. i, kind[1], kind[4], inputs, kind[3] == 1 and {"output"} or {"a", "b"})
    elseif emitting and random(3) == 1 then
      local n = random(3)
      add("e" .. i, EMITTING[n], {salt = random(60000)}, {"input", "i2", "end"},
        EMITTING[n].outputs)
      nodes[#nodes].takes_many = true
    else
      local n = random(40) == 1 and 10 or random(3) == 1 and random(0, 4) or 1
      local class = random(3) == 1 and STEADY[random(#STEADY)] or CLASSES[n]
      local arg = {salt = random(60000), losing = random(3) == 1 and 10 or 0,
                   astray = random(10) == 1}
      add("a" .. i, class, arg, {"input", "i2", "end"}, class.outputs)
      nodes[#nodes].takes_many = emitting
    end
  end
  for i = 1, random(3) do
    if random(2) == 1 then
      add("sink" .. i, Collector, nil, {"a", "b", "c"}, {})
    else
      local name = ring()
      config.app(c, "far" .. i, port.Port, name)
      config.app(c, "sink" .. i, Collector)
      config.link(c, ("far%d.output -> sink%d.input"):format(i, i))
      add("out" .. i, port.Port, name, {"input"}, {"output"})
    end
  end
  join(c, nodes, loops)
  return c
end

-- Running ---------------------------------------------------------------------

local function quiet()
  for _, app in pairs(engine.app_table) do
    if app.last and app.next <= app.last and app.output.output then return false end
    if app.kept and #app.kept > 0 then return false end
  end
  return account.packets(engine.link_table).in_links == 0
end

--- Breathe until nothing moves any more; `each` is called before every breath.
function testing.run(each)
  local still, progress = 0, -1
  for breath = 1, 30000 do
    if each then each(breath) end
    engine.breathe()
    local now = account.progress()
    still = quiet() and now == progress and still + 1 or 0
    progress = now
    if still == 8 then return end
  end
  error("packets are still moving after 30,000 breaths")
end

--- What has come of the running graph: counters of links, drops by app and reason,
--- what sinks got; and the packets that links were too full for.
function testing.outcome()
  local result, full = {links = {}, drops = {}, sinks = {}}, 0
  for spec, l in pairs(engine.link_table) do
    local stats = link.stats(l)
    stats.dtime = nil
    full = full + stats.txdrop
    result.links[spec] = stats
  end
  for name, app in pairs(engine.app_table) do
    result.drops[name] = drops.of(app)
    if getmetatable(app) == Collector then result.sinks[name] = app.got end
  end
  return result, full
end

return testing
