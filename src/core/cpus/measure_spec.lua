-- SPDX-License-Identifier: Apache-2.0
-- What is measured first, and then cut and moved (--cpus), loses no packet by that; and
-- files aren't read twice.

local affinity = require("core.cpus.affinity")
local measure = require("core.cpus.measure")
local script = require("testing.support").script

local cpus = affinity.cpus()
local CPUS = {"--eal", "--no-huge", "--cpus",
  ("%d,%d"):format(cpus[1], cpus[2] or cpus[1] + 1)}

describe("A graph that is cut after it was measured", function ()
  it("is measured for a small part of a short run", function ()
    local measured
    local rest = measure.run({duration = 0.4}, function (options)
      measured = options.duration
    end)
    assert.near(0.1, measured, 1e-9)
    assert.near(0.3, rest.duration, 1e-9)
  end)

  it("has empty links then #slow", function ()
    local said, status = script([[
      local account = require("core.engine.account")
      local flows = require("testing.flows")
      local c = config.new()
      config.app(c, "source", flows.Flows, {packets = 1e9, flows = 7})
      config.app(c, "slow", flows.Slow, {packets = 7})
      config.link(c, "source.output -> slow.input")
      engine.configure(c)
      local link = require("core.link")
      local workers = require("core.cpus.workers")
      local free, lost, seen = link.free, 0, 0
      function link.free(...)
        local n = free(...)
        lost = lost + n
        return n
      end
      engine.main{no_report = true, done = function ()
        seen = math.max(seen, account.packets(engine.link_table).in_links)
        return workers.breaths() > 10
      end}
      assert(#workers.places() == 2)
      print("in links: " .. lost)
      print("most: " .. seen)
    ]], CPUS)
    assert.equal(0, status)
    assert.equal("in links: 0", said:match("in links: [^\n]*"))
    assert.matches("most: 10%d%d\n", said)
  end)

  it("isn't measured when apps would begin their files again", function ()
    local rx, tx = os.tmpname(), os.tmpname()
    local said, status = script([[
      local pcap = require("apps.pcap.pcap")
      local writer = require("lib.pcap.pcap")
      local rx, tx = ...
      local file = assert(io.open(rx, "wb"))
      writer.write_file_header(file)
      for i = 1, 50 do
        local p = packet.from_string(("x"):rep(50 + i))
        writer.write_record(file, p.data, p.length)
      end
      file:close()
      local c = config.new()
      config.app(c, "reader", pcap.PcapReader, rx)
      config.app(c, "writer", pcap.PcapWriter, tx)
      config.link(c, "reader.output -> writer.input")
      engine.configure(c)
      engine.main{done = engine.finished}
    ]], CPUS, {rx, tx})
    assert.equal(0, status)
    assert.matches(" 50 packets read.* 50 packets written", said)
    os.remove(rx)
    os.remove(tx)
  end)
end)
