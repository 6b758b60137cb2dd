-- SPDX-License-Identifier: Apache-2.0
-- Several Generators on one link, and their packets told apart again.

local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local Generator = require("apps.generate.generator").Generator
local Joiner = require("apps.generate.joiner").Joiner
local Meter = require("apps.generate.meter").Meter
local Sorter = require("apps.generate.sorter").Sorter

local STACKS = {"eth,ip4,udp", "eth,ip6,udp", "eth:vlan,ip4,tcp"}
local OFFSETS = {42, 62, 58}

-- A source of frames of no stream, and of a stream that the Sorter hasn't.
local Noise = {}
Noise.__index = Noise

function Noise:new() return setmetatable({n = 0}, Noise) end

function Noise:pull()
  if self.n == 10 then return end
  self.n = self.n + 1
  for _, size in ipairs{10, 60, 200} do
    link.transmit(self.output.output, packet.from_string(("x"):rep(size)))
  end
end

local function graph(count)
  local c, sorted = config.new(), {}
  config.app(c, "joiner", Joiner)
  config.app(c, "noise", Noise)
  config.link(c, "noise.output -> joiner.noise")
  for i, stack in ipairs(STACKS) do
    local name = "generator" .. i
    config.app(c, name, Generator, {stack = stack, stream = 2 * i, count = count * i,
                                    size = 100 + i})
    config.app(c, "meter" .. i, Meter, {stack = stack, stream = 2 * i})
    config.link(c, ("%s.output -> joiner.input%d"):format(name, i))
    config.link(c, ("sorter.output%d -> meter%d.input"):format(i, i))
    sorted[i] = {number = 2 * i, offset = OFFSETS[i], link = "output" .. i}
  end
  config.app(c, "stranger", Generator, {stream = 3, count = 7})
  config.link(c, "stranger.output -> joiner.stranger")
  config.app(c, "sorter", Sorter, {streams = sorted})
  config.link(c, "joiner.output -> sorter.input")
  return c
end

describe("apps.generate.sorter", function ()
  after_each(function () engine.configure(config.new()) end)

  it("gives each Meter its stream's packets, and counts the others", function ()
    local count = 3000
    engine.configure(graph(count))
    local apps = engine.app_table
    local breaths = 0
    engine.main{no_report = true, done = function ()
      breaths = breaths + 1
      local packets = apps.sorter.packets
      for i = 1, 3 do packets = packets + apps["meter" .. i].tally.packets end
      return packets == 6 * count + 37 or breaths == 1e5
    end}
    for i = 1, 3 do
      local sent = apps["generator" .. i]:figures()
      local got = apps["meter" .. i]:figures(sent.numbered)
      assert.equal(i * count, sent.packets)
      assert.equal(sent.packets, sent.numbered)
      assert.same({sent.packets, sent.bytes, 0, 0, 0, 0}, {got.packets, got.bytes,
        got.lost, got.duplicates, got.reordered, got.other})
    end
    assert.same({37, 10 * 270 + 7 * 60}, {apps.sorter:figures().packets,
                                          apps.sorter:figures().bytes})
  end)
end)

describe("apps.generate.joiner", function ()
  it("takes only what its output has room for, in turns", function ()
    local joiner, output = Joiner:new(), link.new("joiner_output")
    local inputs = {link.new("joiner_1"), link.new("joiner_2")}
    joiner.input, joiner.output = inputs, {output = output}
    joiner:link()
    for i, input in ipairs(inputs) do
      for _ = 1, 1000 do
        link.transmit(input, packet.from_string(string.char(i)))
      end
    end
    local room = link.nwritable(output)
    joiner:push()
    assert.equal(room, link.nreadable(output))
    assert.equal(0, link.stats(output).txdrop)
    assert.equal(2000 - room, link.nreadable(inputs[1]) + link.nreadable(inputs[2]))
    local seen = {0, 0}
    local function take()
      for _ = 1, link.nreadable(output) do
        local p = link.receive(output)
        seen[p.data[0]] = seen[p.data[0]] + 1
        packet.free(p)
      end
    end
    take()
    joiner:push()
    take()
    assert.same({1000, 1000}, seen)
    for i, l in ipairs{inputs[1], inputs[2], output} do
      link.free(l, i == 3 and "joiner_output" or "joiner_" .. i)
    end
  end)
end)
