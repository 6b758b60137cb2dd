-- SPDX-License-Identifier: Apache-2.0
local config = require("core.config")
local counter = require("core.counter")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")

describe("an app that needs packets", function ()
  local calls

  -- Sends `left` packets by each of its outputs.
  local Source = {}
  Source.__index = Source
  function Source:new(left) return setmetatable({left = left}, self) end
  function Source:pull()
    for _, output in ipairs(self.output) do
      for _ = 1, self.left do link.transmit(output, packet.allocate()) end
    end
    self.left = 0
  end

  local Sink = {needs_packets = true}
  Sink.__index = Sink
  function Sink:new() return setmetatable({}, self) end
  function Sink:push(l)
    calls[#calls + 1] = l
    for _ = 1, link.nreadable(l) do packet.free(link.receive(l)) end
  end

  -- Takes bursts, and hands them over as one.
  local Bulk = {}
  Bulk.__index = Bulk
  function Bulk:new() return setmetatable({}, self) end
  function Bulk:process_burst() end

  before_each(function () calls = {} end)
  after_each(function () engine.configure(config.new()) end)

  local function start(left, ...)
    local c = config.new()
    config.app(c, "source", Source, left)
    config.app(c, "bulk", Bulk)
    config.app(c, "sink", Sink)
    for _, spec in ipairs{...} do config.link(c, spec) end
    engine.configure(c)
  end

  local function breathe(n)
    for _ = 1, n do engine.breathe() end
  end

  it("isn't called while its links are empty", function ()
    start(0, "source.a -> sink.a", "source.b -> sink.b")
    breathe(5)
    assert.equal(0, #calls)
  end)

  it("is called for each link that has some, once", function ()
    start(3, "source.a -> sink.a", "source.b -> sink.b")
    breathe(5)
    assert.equal(2, #calls)
    assert.are_not.equal(calls[1], calls[2])
    local links = engine.link_table
    assert.equal(3, tonumber(counter.read(links["source.a -> sink.a"].stats.rxpackets)))
    assert.equal(3, tonumber(counter.read(links["source.b -> sink.b"].stats.rxpackets)))
  end)

  it("is called all the same while it is restless", function ()
    start(0, "source.a -> sink.a")
    engine.app_table.sink.restless = true
    breathe(2)
    assert.equal(2, #calls)
    engine.app_table.sink.restless = false
    breathe(2)
    assert.equal(2, #calls)
  end)

  it("is called for what a bulk app hands over", function ()
    start(3, "source.a -> bulk.input", "bulk.output -> sink.a")
    breathe(5)
    assert.equal(1, #calls)
  end)
end)
