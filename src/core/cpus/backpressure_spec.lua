-- SPDX-License-Identifier: Apache-2.0
-- Sources that can wait do so while a ring to another CPU is full.

local affinity = require("core.cpus.affinity")
local backpressure = require("core.cpus.backpressure")
local config = require("core.config")
local engine = require("core.app")
local flows = require("testing.flows")
local partition = require("core.cpus.partition")
local pcap = require("apps.pcap.pcap")
local Fwd = require("apps.fwd.fwd").Fwd
local Generator = require("apps.generate.generator").Generator
local Port = require("apps.port.port").Port
local savefiles = require("testing.savefiles")

local Class, Card = {new = function () end}, {new = function () end}
Card.direct = Card

local function waits(links, cpus)
  local c = config.new()
  for spec in links:gmatch("[^,]+") do
    local from, to = spec:match("(%w+)>(%w+)")
    for _, name in ipairs{from, to} do
      config.app(c, name, name:match("^card") and Card or Class)
    end
    config.link(c, ("%s.%s -> %s.%s"):format(from, to, to, from))
  end
  for name, cpu in pairs(cpus) do config.cpu(c, name, cpu) end
  local _, crossings = partition.of(c)
  local result = {}
  for key, who in pairs(backpressure.of(c, crossings)) do
    local keys = {}
    for _, other in ipairs(who.keys) do
      keys[#keys + 1] = crossings[other].spec:match("^%w+")
    end
    result[crossings[key].spec:match("^%w+")] =
      table.concat(who.apps, " ") .. "/" .. table.concat(keys, " ")
  end
  return result
end

describe("core.cpus.backpressure", function ()
  it("finds the apps and rings whose packets come to a ring", function ()
    assert.same({}, waits("a>b", {}))
    assert.same({a = "a/"}, waits("a>b", {b = 1}))
    assert.same({b = "a b/", x = "x/"}, waits("a>b,b>d,x>d", {d = 1}))
    assert.same({a = "a/", b = "b/a", d = "d/b"},
      waits("a>b,b>d,d>e", {b = 1, d = 2, e = 3}))
  end)

  it("ends at ports, which send packets out of the machine", function ()
    assert.same({card = "card/", b = "b/card"},
      waits("card>b,b>card", {b = 1}))
    assert.same({b = "b/a"}, {b = waits("a>b,b>d", {b = 1, d = 2}).b})
    assert.same({b = "b/"}, {b = waits("a>card,b>d", {d = 1}).b})
  end)

  it("lets no ring of a circle wait for another", function ()
    assert.same({a = "a/", b = "b/"}, waits("a>b,b>a", {b = 1}))
    local all = waits("s>a,a>b,b>a", {a = 1, b = 2})
    assert.same({s = "s/", a = "a/s", b = "b/"}, all)
  end)
end)

local cpus = affinity.cpus()
local PACKETS = 20000

-- What comes out of `source` (an app of that class and argument) goes through an app
-- that drops what has no room to another CPU, which is slow: how much of it arrives.
local function arrives(class, arg, done)
  engine.configure(config.new())
  local c = config.new()
  config.app(c, "source", class, arg)
  config.app(c, "between", Fwd)
  config.app(c, "slow", flows.Slow, {packets = 3})
  config.link(c, "source.output -> between.input")
  config.link(c, "between.output -> slow.input")
  config.cpu(c, "source", cpus[1])
  config.cpu(c, "between", cpus[1])
  config.cpu(c, "slow", cpus[2] or cpus[1] + 1)
  engine.configure(c)
  engine.main{no_report = true, done = done or engine.finished}
  return flows.counted("slow", "received")
end

describe("While a ring to another CPU is full", function ()
  local path

  lazy_setup(function ()
    local little = savefiles.order("little")
    local file = {little:pcap_header()}
    for i = 1, PACKETS do file[i + 1] = little:record(("%060d"):format(i)) end
    path = os.tmpname()
    local f = assert(io.open(path, "wb"))
    f:write(table.concat(file))
    f:close()
  end)
  lazy_teardown(function () os.remove(path) end)
  after_each(function () engine.configure(config.new()) end)

  it("a capture file waits", function ()
    assert.equal(PACKETS, arrives(Port, "pcap:rx=" .. path))
    assert.equal(PACKETS, arrives(pcap.PcapReader, path))
  end)

  it("a generator of a number of packets waits", function ()
    local ends = engine.now() + 60
    assert.equal(PACKETS, arrives(Generator, {stack = "eth", count = PACKETS},
      function ()
        return flows.counted("slow", "received") == PACKETS or engine.now() > ends
      end))
  end)
end)
