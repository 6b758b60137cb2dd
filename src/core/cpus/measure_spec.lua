-- SPDX-License-Identifier: Apache-2.0
-- What is measured first, and then cut and moved (--cpus), loses no packet by that; and
-- files aren't read twice.

local affinity = require("core.cpus.affinity")
local measure = require("core.cpus.measure")
local script = require("testing.support").script

local cpus = affinity.cpus()
local CPUS = {"--eal", "--no-huge", "--cpus",
  ("%d,%d"):format(cpus[1], cpus[2] or cpus[1] + 1)}

-- Tells how many packets there are in links whenever a configuration is applied.
local TELL = [[
  local account = require("core.engine.account")
  local deploy = require("core.cpus.deploy")
  local link = require("core.link")
  local configure = deploy.configure
  function deploy.configure(...)
    print("in links: " .. account.packets(engine.link_table).in_links)
    return configure(...)
  end
]]

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
    local said, status = script(TELL .. [[
      local basic = require("apps.basic.basic_apps")
      local Slow = {}
      function Slow:new() return setmetatable({}, {__index = Slow}) end
      function Slow:push()
        for _ = 1, math.min(7, link.nreadable(self.input.input)) do
          packet.free(link.receive(self.input.input))
        end
      end
      package.loaded["slow"] = Slow
      local c = config.new()
      config.app(c, "source", basic.Source, 60)
      config.app(c, "slow", Slow)
      config.link(c, "source.output -> slow.input")
      engine.configure(c)
      local seen = 0
      print(pcall(engine.main, {no_report = true, done = function ()
        seen = math.max(seen, account.packets(engine.link_table).in_links)
      end}))
      print("most: " .. seen)
    ]], CPUS)
    assert.equal(0, status)
    assert.equal("in links: 0", said:match("in links: [^\n]*"))
    assert.matches("module 'slow' not found", said) -- no more was to be seen
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
