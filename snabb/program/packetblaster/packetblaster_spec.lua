-- SPDX-License-Identifier: Apache-2.0
-- Which ports packetblaster's arguments mean, and Spread, which feeds them.

local engine = require("core.app")
local ffi = require("ffi")
local link = require("core.link")
local packet = require("core.packet")
local packetblaster = require("program.packetblaster.packetblaster")
local synth = require("program.packetblaster.synth.synth")
local Spread = require("program.packetblaster.replay.spread").Spread

local DEVICES = {
  {pciaddress = "01:00.0", usable = "yes"}, {pciaddress = "01:00.1", usable = false},
  {pciaddress = "02:00.0", usable = "yes"},
  {pciaddress = "0001:03:00.0", usable = "yes"},
}

local function assert_ports(expected, ...)
  assert.are.same(expected, packetblaster.ports({...}, DEVICES))
end

describe("program.packetblaster", function()
  it("takes patterns of PCI addresses, of usable devices", function()
    assert_ports({"0000:01:00.0"}, "01:00.0")
    assert_ports({"0000:01:00.0", "0000:02:00.0"}, "^0000:")
    assert_ports({"0000:01:00.0", "0000:02:00.0", "0001:03:00.0"}, "%.0$")
  end)

  it("takes port strings, and each port once", function()
    assert_ports({"null", "0000:02:00.0"}, "null", "0000:02:00.0", "null", "02:00")
    assert_ports({"packet:veth0"}, "packet:veth0")
  end)

  it("refuses what is neither", function()
    for _, text in ipairs{"09:", "nulls", "[", "%"} do
      local ok, err = pcall(packetblaster.ports, {text}, DEVICES)
      assert.is_false(ok)
      assert.matches(("'%s' matches no usable PCI device"):format(text), tostring(err),
                     1, true)
    end
  end)

  it("takes a list of sizes", function()
    assert.are.same({64}, synth.sizes("64"))
    assert.are.same({32, 64, 128}, synth.sizes("32,64, 128"))
    for _, text in ipairs{"", "64,", "a", "64;128", "-1"} do
      assert.is_nil((synth.sizes(text)))
    end
  end)
end)

describe("Spread", function()
  local input, outputs

  local function send(...)
    for _, text in ipairs{...} do
      link.transmit(input, packet.from_string(text))
    end
  end

  local function received(l, n)
    local packets = {}
    for i = 1, n or link.nreadable(l) do
      local p = link.receive(l)
      packets[i] = ffi.string(p.data, p.length)
      packet.free(p)
    end
    return table.concat(packets, " ")
  end

  local function spread(loop)
    local app = Spread:new({loop = loop})
    app.input, app.output = {input = input}, outputs
    return app
  end

  before_each(function()
    input = link.new("spread_input")
    outputs = {link.new("spread_output1"), link.new("spread_output2")}
  end)
  after_each(function()
    link.free(input, "spread_input")
    link.free(outputs[1], "spread_output1")
    link.free(outputs[2], "spread_output2")
  end)

  it("sends each packet to every output once", function()
    local app = spread(false)
    send("a", "b")
    app:push()
    assert.are.equal("a b", received(outputs[1]))
    assert.are.equal("a b", received(outputs[2]))
    app:push()
    assert.is_true(link.empty(outputs[1]))
  end)

  it("waits for room on the slowest output", function()
    local app = spread(false)
    for i = 1, link.max - 1 do
      link.transmit(outputs[2], packet.from_string(tostring(i)))
    end
    send("a", "b")
    app:push()
    assert.are.equal("a", received(outputs[1]))
    assert.are.equal(1, link.nreadable(input))
    received(outputs[2])
    app:push()
    assert.are.equal("b", received(outputs[1]))
    assert.are.equal("b", received(outputs[2]))
    assert.are.equal(0, link.stats(outputs[2]).txdrop)
  end)

  it("sends over and over, to each output at its pace", function()
    local app = spread(true)
    app:push()
    assert.is_true(link.empty(outputs[1]))
    send("a", "b", "c")
    app:push()
    assert.are.equal(engine.pull_npackets, link.nreadable(outputs[1]))
    assert.are.equal("a b c a", received(outputs[1], 4))
    for _ = 1, 20 do
      app:push()
      received(outputs[2])
    end
    assert.is_true(link.full(outputs[1]))
    assert.are.equal(0, link.stats(outputs[1]).txdrop)
    app:stop()
  end)
end)
