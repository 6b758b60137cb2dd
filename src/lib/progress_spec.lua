-- SPDX-License-Identifier: Apache-2.0
-- Progress lines: their text, and when they are written to a file. (On a terminal:
-- test/test_replay.py.)

local engine = require("core.app")
local progress = require("lib.progress")
local testing = require("testing.savefiles")

describe("lib.progress", function()
  local path, stream, now, real_now

  before_each(function()
    path = os.tmpname()
    stream = io.open(path, "w")
    now, real_now = 1000, engine.now
    engine.now = function() return now end
  end)
  after_each(function()
    engine.now = real_now
    stream:close()
    os.remove(path)
  end)

  it("gives rates since the line before, and totals", function()
    local before = {packets = 1000, bits = 1e6}
    local after = {packets = 3001000, bits = 2.001e9, note = "7 dropped"}
    assert.are.equal(
      "replay: 12 s  1.500 Mpps  1.000 Gbit/s  3,001,000 packets  26%  7 dropped",
      progress.line("replay", 12.4, after, before, 2, 0.256))
    assert.are.equal("x: 0 s  0 pps  5 packets",
                     progress.line("x", 0, {packets = 5}, {packets = 5}, 0))
    assert.are.equal("x: 2 s  1.000 kpps  2,000 packets  received 500 pps, lost 1,000",
      progress.line("x", 2, {packets = 2000, received = 1000, lost = 1000},
                    {packets = 0, received = 0, lost = 0}, 2))
    local full = progress.line("x", 1, {packets = 1}, {packets = 0}, 1, 1.2)
    assert.matches("  100%", full, 1, true)
  end)

  it("writes a line every ten seconds when not on a terminal", function()
    local packets = 0
    local line = progress.start{label = "test", stream = stream,
                                sample = function() return {packets = packets} end}
    assert.are.equal(10e9, line.timer.ticks * require("core.timer").ns_per_tick)
    for _, seconds in ipairs{10, 10, 0, 20} do
      now, packets = now + seconds, packets + 100 * seconds
      line.timer.fn(line.timer)
    end
    now = now + 10
    line:finish()
    assert.are.equal("test: 10 s  100 pps  1,000 packets\n"
                     .. "test: 20 s  100 pps  2,000 packets\n"
                     .. "test: 40 s  100 pps  4,000 packets\n"
                     .. "test: 50 s  80 pps  4,000 packets\n", testing.load(path))
    assert.is_nil(line.timer.next_tick)
  end)

  it("says how much of the run is over, by packets or by time", function()
    local line = progress.start{
      label = "test", stream = stream, limit = 1000, duration = 100,
      sample = function() return {packets = (now - 1000) ^ 2} end,
    }
    for _, time in ipairs{1005, 1010, 1020} do
      now = time
      line.timer.fn(line.timer)
    end
    line:finish("quiet")
    assert.are.equal("test: 5 s  5 pps  25 packets  5%\n"
                     .. "test: 10 s  15 pps  100 packets  10%\n"
                     .. "test: 20 s  30 pps  400 packets  40%\n", testing.load(path))
  end)

  it("ends without a word when told so", function()
    local line = progress.start{label = "test", stream = stream,
                                sample = function() return {packets = 0} end}
    line:finish("quiet")
    assert.are.equal("", testing.load(path))
  end)
end)
