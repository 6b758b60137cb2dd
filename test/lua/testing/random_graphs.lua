-- SPDX-License-Identifier: Apache-2.0
-- For specs: random graphs of apps whose decisions follow from the packet alone, so
-- that the same must come of them however they are run; and a record of what did.

local ffi = require("ffi")
local account = require("core.engine.account")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local drops = require("core.fuse.drops")
local engine = require("core.app")
local fwd = require("apps.fwd.fwd")
local link = require("core.link")
local packet = require("core.packet")
local port = require("apps.port.port")

local testing = {}

-- A test packet begins with this. `path` is a hash of the apps it has passed.
local header_t = ffi.typeof("struct { uint32_t id, hops, path, spare; } *")
local HEADER, SHORTEST = 16, 24

local function header(p) return ffi.cast(header_t, p.data) end

local band, bxor, rshift, tobit = bit.band, bit.bxor, bit.rshift, bit.tobit

-- A number that depends on every bit of the arguments.
local function mixed(a, b, c)
  local h = bxor(tobit(a * 40503), tobit(b * 65599), tobit(c * 30011))
  h = bxor(h, rshift(h, 7))
  h = tobit(band(h, 0xffffff) * 251 + rshift(h, 24))
  return band(bxor(h, rshift(h, 11)), 0xffff)
end

-- Per packet ------------------------------------------------------------------

-- What an app does with a packet, by number. The header stays in front.
local CHANGES = {
  function (p) return p end,
  function (p, h) return packet.resize(p, SHORTEST + h % 400) end,
  function (p, h)
    local n = h % (HEADER + 1) -- what was there covers all that is opened
    p = packet.shiftright(p, n)
    ffi.copy(p.data, ffi.string(p.data + n, HEADER), HEADER)
    return p
  end,
  function (p, h)
    local n = math.min(h % 40, p.length - SHORTEST)
    ffi.copy(p.data + n, ffi.string(p.data, HEADER), HEADER)
    return packet.shiftleft(p, n)
  end,
  function (p)
    local q = packet.clone(p)
    packet.free(p)
    return q
  end,
  function (p, h)
    local q = packet.from_pointer(p.data, SHORTEST + h % (p.length - SHORTEST + 1))
    packet.free(p)
    return q
  end,
}

local function process(self, p)
  local head = header(p)
  local h = mixed(head.id, head.hops, self.salt)
  if head.hops == 0 then return nil, 1 end
  head.hops = head.hops - 1
  head.path = tobit(head.path * 31 + self.salt)
  if h % 100 < self.losing then
    if h % 3 == 0 then packet.shiftleft(p, h % 8) end -- who drops may have begun
    return nil, self.reasons[h % 7]
  end
  if h % 2 == 0 then p = CHANGES[rshift(h, 3) % #CHANGES + 1](p, h) end
  local o = rshift(h, 6) % self.ways
  head = header(p)
  head.path = tobit(head.path * 7 + o)
  if o == 0 then return p end
  return p, o
end

local REASONS = {[0] = nil, 1, 2, 3, 4, 0, 77}

--- A class of apps with `n` outputs that treat packets one by one. Its argument:
--- salt, losing (percent), and whether it now and then names no output of its own.
function testing.class(n)
  local outputs = {}
  for i = 1, n do outputs[i] = i == 1 and "output" or "o" .. i end
  local class = {outputs = outputs, process = process, drops = {"hops", "b c", "b-c"},
                 counts_hops = true}
  class.__index = class
  function class:new(arg)
    return setmetatable({
      salt = arg.salt, losing = arg.losing, reasons = REASONS,
      ways = n + (arg.astray and 2 or 1),
    }, class)
  end
  return class
end

local CLASSES = {}
for n = 0, 4 do CLASSES[n] = testing.class(n) end
CLASSES[10] = testing.class(10)

-- Ends ------------------------------------------------------------------------

local Feeder = {}
Feeder.__index = Feeder
Feeder.link_names = {input = {}, output = {output = true}}

--- A source of `count` packets with ids from `first` on, at most `rate` a breath.
function Feeder:new(arg)
  return setmetatable({next = arg.first, last = arg.first + arg.count - 1,
                       rate = arg.rate, hops = arg.hops}, self)
end

function Feeder:pull()
  local output = self.output.output
  if not output then return end
  for _ = 1, math.min(self.rate, self.last - self.next + 1) do
    local p = packet.resize(packet.allocate(), SHORTEST + self.next % 700)
    local head = header(p)
    head.id, head.hops, head.path, head.spare = self.next, self.hops, 0, 0
    self.next = self.next + 1
    link.transmit(output, p)
  end
end

local Collector = {}
Collector.__index = Collector

--- A sink that keeps the bytes of what it gets, in order, by the path it came.
function Collector:new()
  return setmetatable({got = {}}, self)
end

function Collector:push()
  for i = 1, #self.input do
    for _ = 1, link.nreadable(self.input[i]) do
      local p = link.receive(self.input[i])
      local head = header(p)
      local path = ("%d %d"):format(head.path, head.id / 100000)
      self.got[path] = self.got[path] or {}
      table.insert(self.got[path], ffi.string(p.data, p.length))
      packet.free(p)
    end
  end
end

local Fork = {counts_hops = true}
Fork.__index = Fork

--- Snabb's Tee, but that copies tell which way they went, and count hops.
function Fork:new() return setmetatable({}, Fork) end

function Fork:push()
  for i = 1, #self.input do
    for _ = 1, link.nreadable(self.input[i]) do
      local p = link.receive(self.input[i])
      for _, name in ipairs{"a", "b"} do
        if self.output[name] and header(p).hops > 0 then
          local copy = packet.clone(p)
          header(copy).hops = header(p).hops - 1
          header(copy).path = tobit(header(copy).path * 7 + #name + name:byte())
          link.transmit(self.output[name], copy)
        end
      end
      packet.free(p)
    end
  end
end

-- A bulk app with two outputs, which now and then names a third, and drops by name.
local Bulk = {outputs = {"a", "b"}, drops = {"c d", "e"}, counts_hops = true}
Bulk.__index = Bulk

function Bulk:new(salt) return setmetatable({salt = salt}, Bulk) end

function Bulk:process_burst(packets, n, route)
  for i = 0, n - 1 do
    local head = header(packets[i])
    local h = head.hops == 0 and 0 or mixed(head.id, head.hops, self.salt)
    head.hops = math.max(head.hops - 1, 0)
    route[i] = h % 50 == 0 and 3 or h % 8 == 0 and -1 - h % 3 or h % 3
    head.path = tobit(head.path * 7 + route[i])
  end
end

testing.Feeder, testing.Collector = Feeder, Collector

-- Graphs ----------------------------------------------------------------------

local random = math.random

-- Snabb's way: class, number of inputs and outputs, their names.
local NEIGHBOURS = {
  {Fork, 2, 2}, {Bulk, 2, 2, 5}, {Bulk, 1, 2, 7}, {Bulk, 1, 2, 3}, {basic.Join, 3, 1},
  {basic.Truncate, 1, 1, 60}, {fwd.Fwd, 1, 1},
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
        local input = table.remove(to.inputs, random(#to.inputs))
        config.link(c, ("%s%s.%s"):format(from, to.name, input))
      elseif node.source then
        config.link(c, from .. "rest." .. node.name)
      end
    end
  end
end

--- A random configuration of up to `most` per-packet apps, their neighbours, sources
--- and sinks; `loops` allows links back. Each source has up to `packets`.
function testing.random_graph(most, loops, packets)
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
    config.app(c, "feeder" .. i, Feeder, feeder)
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
    if random(5) == 1 then
      local kind = NEIGHBOURS[random(#NEIGHBOURS)]
      local inputs = {"input", "i2", "i3"}
      for k = #inputs, kind[2] + 1, -1 do inputs[k] = nil end
      add("n" .. i, kind[1], kind[4], inputs, kind[3] == 1 and {"output"} or {"a", "b"})
    else
      local n = random(40) == 1 and 10 or random(3) == 1 and random(0, 4) or 1
      local arg = {salt = random(60000), losing = random(3) == 1 and 10 or 0,
                   astray = random(10) == 1}
      add("a" .. i, CLASSES[n], arg, {"input", "i2", "end"}, CLASSES[n].outputs)
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
    if getmetatable(app) == Feeder and app.next <= app.last and app.output.output then
      return false
    end
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
