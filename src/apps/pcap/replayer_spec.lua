-- SPDX-License-Identifier: Apache-2.0
-- The Replayer, with a clock of the test's own.

local engine = require("core.app")
local ffi = require("ffi")
local link = require("core.link")
local packet = require("core.packet")
local take = require("testing.support").take
local testing = require("testing.savefiles")
local Replayer = require("apps.pcap.replayer").Replayer

local host = testing.order(ffi.abi("le") and "little" or "big")
local SECOND = 1000000

local path, output, now, real_now

-- A file of packets "1", "2", ... with these times in microseconds.
local function save(times)
  local parts = {host:pcap_header()}
  for i, time in ipairs(times) do
    parts[#parts + 1] = host:record(tostring(i), {
      sec = 1000 + math.floor(time / SECOND), fraction = time % SECOND})
  end
  testing.save(path, table.concat(parts))
end

local function replayer(arg)
  arg.filename = path
  local app = Replayer:new(arg)
  app.output, app.input = {output = output}, {}
  return app
end

local function receive_all()
  return table.concat(take(output), " ")
end

-- What is sent at the time `time`, in seconds.
local function sent_at(app, time)
  now = time
  app:burst(output, 100)
  return receive_all()
end

describe("apps.pcap.replayer", function()
  before_each(function()
    path = os.tmpname()
    output = link.new("replayer_test")
    real_now, now = engine.now, 0
    engine.now = function() return now end
  end)
  after_each(function()
    engine.now = real_now
    link.free(output, "replayer_test")
    os.remove(path)
  end)

  it("sends packets when they are due", function()
    save{0, SECOND, SECOND, 3 * SECOND}
    local app = replayer{speed = 2}
    assert.are.equal("1", sent_at(app, 50))
    assert.are.equal("", sent_at(app, 50.4))
    assert.are.equal("2 3", sent_at(app, 50.6))
    assert.is_false(app.done)
    assert.are.equal("4", sent_at(app, 51.6))
    assert.is_true(app.done)
    assert.are.equal(1.5, app.scheduled)
    assert.are.equal(50, app.started)
    assert.are.equal(4, app.packets)
    assert.are.equal(4, app.bytes)
    assert.are.equal(4 * 84 * 8, app.bits)
  end)

  it("keeps a packet rate, and makes up for delays up to a bound", function()
    save{0, 0, 0}
    local app = replayer{packet_rate = 128, loops = math.huge}
    assert.are.equal("1", sent_at(app, 0))
    assert.are.equal("2 3", sent_at(app, 2.5 / 128))
    assert.are.equal("1 2 3 1 2", sent_at(app, 7.5 / 128))
    -- Ten seconds late: the packet that waits, and those due in the 0.1 s behind it.
    local _, count = sent_at(app, 10):gsub("%d", "")
    assert.are.equal(1 + math.floor(0.1 * 128), count)
  end)

  it("says when the next packet is due", function()
    save{0, SECOND, 3 * SECOND}
    local app = replayer{speed = 2}
    assert.equal(7, app:due_at(7))
    assert.same({"1", 50.5, 50.5}, {sent_at(app, 50), app:due_at(50), app:due_at(51)})
    assert.same({"2", 51.5}, {sent_at(app, 50.5), app:due_at(50.5)})
    app:hold()
    assert.equal(math.huge, app:due_at(60))
    app:go()
    assert.same({"3", math.huge}, {sent_at(app, 60), app:due_at(60)})
  end)

  it("goes on at another rate, from the packet that waits", function()
    save{0, 100 * SECOND, 200 * SECOND, 300 * SECOND}
    local app = replayer{speed = 1}
    assert.are.equal("1", sent_at(app, 0))
    now = 10
    app:reconfig{speed = 2}
    assert.same({"2", "", "3"}, {sent_at(app, 10), sent_at(app, 59), sent_at(app, 60)})
    now = 70
    app:reconfig{packet_rate = 0.125}
    assert.same({"4", true}, {sent_at(app, 70), app.done})
    app = replayer{packet_rate = 0.001}
    assert.are.equal("1", sent_at(app, 100))
    now = 110
    app:reconfig{packet_rate = 0.125}
    assert.same({"2", "", "3"},
      {sent_at(app, 110), sent_at(app, 117), sent_at(app, 118)})
  end)

  it("goes through the file as often as asked", function()
    save{0, 10}
    local app = replayer{loops = 3}
    assert.are.equal("1 2 1 2 1 2", sent_at(app, 0))
    assert.is_true(app.done)
  end)

  it("stops at a limit", function()
    save{0, 10}
    local app = replayer{loops = math.huge, limit = 5}
    assert.are.equal("1 2 1 2 1", sent_at(app, 0))
    assert.is_true(app.done)
    app = replayer{limit = 0}
    assert.are.equal("", sent_at(app, 0))
    assert.is_true(app.done)
  end)

  it("ends with a file that has no packet, however often", function()
    save{}
    local app = replayer{loops = math.huge}
    assert.are.equal("", sent_at(app, 0))
    assert.is_true(app.done)
  end)

  it("skips packets that are too long without end", function()
    testing.save(path, host:pcap_header{snaplen = 0}
      .. host:record(("x"):rep(packet.max_payload + 1)))
    local app = replayer{loops = math.huge}
    sent_at(app, 0)
    assert.is_true(app.done)
    assert.are.equal(1, app.oversize)
  end)

  it("refuses rates that can't be", function()
    save{0}
    for _, arg in ipairs{{speed = 0}, {packet_rate = -1}, {bit_rate = math.huge},
                         {packet_rate = 0 / 0}, {speed = 1, bit_rate = 5}} do
      assert.is_false(pcall(replayer, arg))
    end
  end)
end)
