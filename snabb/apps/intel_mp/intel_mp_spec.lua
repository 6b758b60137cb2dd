-- SPDX-License-Identifier: Apache-2.0
-- Snabb's driver apps that take a PCI address, on capture files in its place.

local loopback = require("testing.loopback")

local FRAMES = {("\1"):rep(60), ("\2"):rep(1514), ("\3"):rep(9000)}
local ADDRESS = loopback.ADDRESS

-- Module, class, argument, and the names of its output and input.
local classes = {
  {"apps.intel_mp.intel_mp", "Intel", {pciaddr = ADDRESS}, "output", "input"},
  {"apps.intel_mp.intel_mp", "Intel82599", {pciaddr = ADDRESS, rxq = 0, txq = 0,
    wait_for_link = true, macaddr = "02:00:00:00:00:01", run_stats = true},
    "output", "input"},
  {"apps.intel_mp.intel_mp", "driver", {pciaddr = "fe:1f.7"}, "output", "input"},
  {"apps.intel.intel_app", "Intel82599", {pciaddr = ADDRESS}, "tx", "rx"},
  {"apps.intel.intel_app", "Intel82599", {pciaddr = ADDRESS}, "output", "input"},
  {"apps.intel.intel_app", "driver", {pciaddr = ADDRESS, mtu = 9000}, "tx", "rx"},
  {"apps.intel_avf.intel_avf", "Intel_avf", {pciaddr = ADDRESS, macs = {}},
    "output", "input"},
  {"apps.intel_avf.intel_avf", "IO", {pciaddr = ADDRESS, queue = 0},
    "output", "input"},
  {"apps.mellanox.connectx", "IO", {pciaddress = ADDRESS, queue = "q1"},
    "output", "input"},
  {"apps.virtio_net.virtio_net", "VirtioNet", {pciaddr = ADDRESS, use_checksum = true},
    "tx", "rx"},
  {"apps.solarflare.solarflare", "SolarFlareNic", {pciaddr = ADDRESS}, "tx", "rx"},
  {"apps.solarflare.solarflare", "driver", {pciaddr = ADDRESS, mode = "x"}, "tx", "rx"},
}

describe("driver apps by PCI address", function()
  for _, case in ipairs(classes) do
    local module, name, arg, from, to = unpack(case)
    it(("%s.%s passes packets from %s to %s"):format(module, name, from, to), function()
      local class = require(module)[name]
      assert.same(FRAMES, loopback.run(class, arg, from, to, FRAMES))
    end)
  end

  for _, module in ipairs {"apps.intel_mp.intel_mp", "apps.intel.intel_app"} do
    it(module .. " counts packets and bytes", function()
      local rx, tx
      local function inspect(nic)
        local counted = nic.dev or nic
        rx, tx = counted:get_rxstats(), counted:get_txstats()
      end
      loopback.run(require(module).driver, {pciaddr = ADDRESS}, "output", "input",
        FRAMES, inspect)
      assert.same({counter_id = 0, packets = 3, dropped = 0, bytes = 10574}, rx)
      assert.same({counter_id = 0, packets = 3, bytes = 10574}, tx)
    end)
  end
end)

describe("apps.intel_mp", function()
  local config, engine = require("core.config"), require("core.app")
  local link, packet = require("core.link"), require("core.packet")
  local intel_mp = require("apps.intel_mp.intel_mp")
  after_each(function() engine.configure(config.new()) end)

  -- A network of nic.output -> nic.input on the null port.
  local function start(arg)
    local c = config.new()
    config.app(c, "nic", intel_mp.Intel, arg)
    config.link(c, "nic.output -> nic.input")
    engine.configure(c)
    return engine.link_table["nic.output -> nic.input"]
  end

  it("receives nothing with rxq = false", function()
    local l = start {pciaddr = "null", rxq = false}
    engine.main {duration = 0.01, no_report = true}
    assert.equal(0, link.stats(l).txpackets)
  end)

  it("sends nothing with txq = false", function()
    local l = start {pciaddr = "null", txq = false}
    engine.main {duration = 0.01, no_report = true}
    assert.equal(0, link.stats(l).rxpackets)
    assert.is_true(link.stats(l).txpackets > 0)
  end)

  it("refuses a card that isn't there, and an argument without its address", function()
    local c = config.new()
    config.app(c, "nic", intel_mp.Intel, {pciaddr = "fe:1f.6"})
    local ok, err = pcall(engine.configure, c)
    assert.is_false(ok)
    assert.matches("there is no PCI device 0000:fe:1f.6", tostring(err))
    ok, err = pcall(config.app, c, "nic2", intel_mp.Intel, {})
    assert.is_false(ok)
    assert.matches("pciaddr", tostring(err))
  end)

  it("LoadGen sends what it was given again and again", function()
    local LoadGen = require("apps.intel_mp.loadgen").LoadGen
    local Three = {}
    Three.__index = Three
    function Three:new() return setmetatable({left = 3}, Three) end
    function Three:pull()
      while self.left > 0 do
        self.left = self.left - 1
        link.transmit(self.output.output, packet.from_string(("x"):rep(60)))
      end
    end
    local c = config.new()
    config.app(c, "three", Three)
    config.app(c, "gen", LoadGen, "null")
    config.link(c, "three.output -> gen.input")
    engine.configure(c)
    local ends = engine.now() + 20
    local stats
    engine.main {no_report = true, done = function ()
      stats = engine.app_table.gen:statistics()
      return stats.opackets > 1000 or engine.now() > ends
    end}
    assert.is_true(stats.opackets > 1000)
    assert.equal(0, stats.ipackets)
  end)
end)

describe("apps.mellanox.connectx", function()
  local ConnectX = require("apps.mellanox.connectx").ConnectX

  it("sets up a card without links of its own", function()
    local app = ConnectX:new {pciaddress = ADDRESS, queues = {{id = "a"}}}
    assert.is_nil(app.pull)
  end)
end)

describe("apps.intel_avf", function()
  it("leaves the packets to IO apps with nqueues", function()
    local Intel_avf = require("apps.intel_avf.intel_avf").Intel_avf
    assert.is_nil(Intel_avf.check_arg {pciaddr = ADDRESS, nqueues = 1})
    assert.is_nil(Intel_avf:new {pciaddr = ADDRESS, nqueues = 1}.pull)
  end)
end)
