-- SPDX-License-Identifier: Apache-2.0

local ToPort = require("to_port").ToPort
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local createStack = require("lib.stack").createStack
local engine = require("core.app")
local packet = require("core.packet")

local asUdp, asTcp = createStack("eth", "ip4", "udp"), createStack("eth", "ip4", "tcp")

local function datagram(port)
  local p = packet.allocate()
  asUdp(p):fill{udpDst = port, pktLength = 60}
  return p
end

-- Sends the packets `list` of its argument, once.
local Once = {}
Once.__index = Once
function Once:new(list) return setmetatable({list = list}, self) end
function Once:pull()
  while #self.list > 0 do
    link.transmit(self.output.output, table.remove(self.list, 1))
  end
end

describe("ToPort", function ()
  after_each(function () engine.configure(config.new()) end)

  it("passes its port, and names what it drops", function ()
    local app = ToPort:new{port = 53}
    local p = datagram(53)
    assert.equal(p, app:process(p))
    asUdp(p).udp:setDstPort(54)
    assert.same({nil, 2}, {app:process(p)})
    asTcp(p):fill{tcpDst = 53, pktLength = 60}
    assert.same({nil, 1}, {app:process(p)})
    packet.free(p)
  end)

  it("bears whatever comes, of any length", function ()
    local app, p = ToPort:new{port = 53}, datagram(53)
    for length = 0, 41 do
      p.length = length
      assert.same({nil, 1}, {app:process(p)})
    end
    packet.free(p)
  end)

  it("counts in a graph", function ()
    local c = config.new()
    config.app(c, "once", Once, {datagram(53), datagram(54), datagram(53)})
    config.app(c, "to_port", ToPort, {port = 53})
    config.app(c, "sink", basic.Sink)
    config.link(c, "once.output -> to_port.input")
    config.link(c, "to_port.output -> sink.input")
    engine.configure(c)
    engine.main{duration = 0.01, no_report = true}
    local stats = link.stats(engine.link_table["to_port.output -> sink.input"])
    assert.equal(2, stats.txpackets)
    assert.equal(1, engine.drops("to_port").another_port)
  end)
end)
