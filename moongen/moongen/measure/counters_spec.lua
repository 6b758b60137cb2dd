-- SPDX-License-Identifier: Apache-2.0
local clock = require("moongen.clock")
local counters = require("moongen.measure.counters")

-- What `f` writes to the file that it is given.
local function written(f)
  local name = os.tmpname()
  f(name)
  local file = assert(io.open(name))
  local text = file:read("*a")
  file:close()
  os.remove(name)
  return text
end

describe("counters", function ()
  local seconds, now = clock.seconds, nil

  before_each(function ()
    now = 1000
    clock.seconds = function () return now end
  end)
  after_each(function () clock.seconds = seconds end)

  -- 60 B at 200 kpps: 0.2 * 64 * 8 Mbit/s, and 20 B more on the wire.
  local function at_a_rate(counter)
    for _ = 0, 4 do
      counter:updateWithSize(200000, 60)
      now = now + 1.0009765625 -- a binary fraction over the second
    end
    counter:finalize()
  end

  it("print libmoon's lines", function ()
    local text = written(function (name)
      at_a_rate(counters.manual(1, "TX", "[Device: id=0]", "plain", name))
    end)
    local line = "[Device: id=0] TX: 0.20 Mpps, 102 Mbit/s (134 Mbit/s with framing)\n"
    assert.equal(line:rep(4) .. "[Device: id=0] TX: 0.20 (StdDev 0.00) Mpps, " ..
      "102 (StdDev 0) Mbit/s (134 Mbit/s with framing), " ..
      "total 1000000 packets with 64000000 bytes (incl. CRC)\n", text)
  end)

  it("write CSV with one header", function ()
    local text = written(function (name)
      local other = counters.manual(2, "RX", "B", "CSV", name)
      local counter = counters.manual(1, "TX", "A", "csv", name)
      other:update(0, 0)
      now = 1000
      counter:update(0, 0)
      now = 1002
      counter:update(4000000, 256000000)
      counter:finalize()
      other:finalize()
    end)
    local lines = {}
    for line in text:gmatch("[^\n]+") do lines[#lines + 1] = line:gsub("^%d+", "T") end
    assert.same({
      "Time,Device,Direction,PacketRate,Mbit,MbitWithFraming,TotalPackets,TotalBytes",
      "T,A,TX,2,1024,1344,4000000,256000000",
      "T,A,TX,2,1024,1344,4000000,256000000",
      "T,B,RX,0,0,0,0,0"}, lines)
  end)

  it("write MoonGen's ini lines", function ()
    local text = written(function (name)
      local counter = counters.manual(1, "TX", "A", "ini", name)
      counter:update(0, 0)
      now = 1002
      counter:update(4000000, 256000000)
      counter:finalize()
    end)
    assert.equal("ASent,packets=4000000,rate=2.00,rate_mbits=1024.00," ..
      "rate_wire=1344.00\nATotalSent,packets=4000000,bytes=256000000,"
      .. "rate=2.000000,rate_dev=0.000000,"
      .. "rate_mbits=1024.000000,rate_mbits_dev=0.000000,rate_wire=1344.000000,"
      .. "rate_wire_dev=0.000000.\n", text)
  end)

  it("read a device's statistics, and are named after it", function ()
    local device = setmetatable({packets = 0}, {__tostring = function ()
      return "[Device: id=3]"
    end})
    function device:getRxStats() return self.packets, self.packets * 64 end
    local text = written(function (name)
      local counter = counters.of_device(1, "RX", nil, device, "plain", name)
      assert.is_false(counter:update())
      device.packets, now = 10, now + 0.5
      assert.is_false(counter:update()) -- not a second yet
      now = now + 1.5
      assert.is_true(counter:update())
      device.packets = 25
      counter:finalize(0)
      assert.same({25, 1600}, {counter.total, counter.totalBytes})
    end)
    assert.truthy(text:find("[Device: id=3] RX: 0.00 (StdDev 0.00) Mpps", 1, true))
    assert.truthy(text:find("total 25 packets with 1600 bytes (incl. CRC)\n", 1, true))
  end)

  it("count packets that they are shown", function ()
    local counter = counters.of_packets(1, "RX", "A", "nil")
    for _ = 1, 3 do counter:countPacket{pkt_len = 60} end
    counter:update()
    local mpps, mbit, wire, packets, bytes = counter:getStats()
    assert.same({3, 192}, {packets, bytes})
    assert.same({0, 0, 0}, {#mpps, #mbit, #wire})
  end)

  it("tell rates of runs that end before the first second", function ()
    local text = written(function (name)
      local never = counters.manual(1, "TX", "never", "plain", name)
      local once = counters.manual(2, "TX", "once", "plain", name)
      local at_once = counters.manual(3, "TX", "at once", "plain", name)
      at_once:update(7, 448)
      at_once:finalize()
      once:update(0, 0)
      now = now + 0.5
      once:update(200000, 12800000)
      never.current, never.currentBytes = 200000, 12800000
      once:finalize()
      never:finalize()
    end)
    local rates = "TX: 0.40 (StdDev 0.00) Mpps, 205 (StdDev 0) Mbit/s " ..
      "(269 Mbit/s with framing), total 200000 packets with 12800000 bytes " ..
      "(incl. CRC)\n"
    assert.equal("[at once] TX: 0.00 (StdDev 0.00) Mpps, 0 (StdDev 0) Mbit/s " ..
      "(0 Mbit/s with framing), total 7 packets with 448 bytes (incl. CRC)\n" ..
      "[once] " .. rates .. "[never] " .. rates, text)
  end)

  it("average without the first and the last interval", function ()
    local counter = counters.manual(1, "TX", "A", "nil")
    for _, packets in ipairs{0, 100, 20, 40, 100} do
      counter:update(packets * 1e6, 0)
      now = now + 2
    end
    local mpps = counter:getStats()
    assert.same({50, 10, 20, 50}, {mpps[1], mpps[2], mpps[3], mpps[4]})
    assert.equal(15, mpps.avg)
  end)

  it("refuse a format and a file that can't be", function ()
    assert.error_matches(function () counters.manual(1, "TX", "A", "xml") end,
      "Unsupported output format xml; there are CSV, csv, ini, nil, plain")
    assert.error_matches(function ()
      counters.manual(1, "TX", "A", "plain", "/nonexistent/file")
    end, "can't write statistics: /nonexistent/file: No such file")
  end)
end)
