-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local timesync = require("moongen.measure.timesync")

-- A device of a card with a clock (or without), and what was asked of it.
local function card(port, own)
  return {c = {ports = {[0] = {id = port, own = own}}}}
end

describe("timesync", function ()
  local real, asked, stamp, fails
  before_each(function ()
    real, asked, stamp, fails = timesync.C, {}, nil, 0
    local function read(port, t)
      asked[#asked + 1] = port
      if not stamp or #asked <= fails then return -22 end
      t.sec, t.nsec = stamp[1], stamp[2]
      return 0
    end
    timesync.C = {
      mg_timesync_enable = function (port)
        asked[#asked + 1] = port
        return port < 1010 and 0 or -95
      end,
      mg_timesync_rx = read, mg_timesync_tx = read, mg_timesync_read = read,
      mg_timesync_write = function (port, t)
        asked[#asked + 1] = port
        assert.same({0, 0}, {tonumber(t.sec), tonumber(t.nsec)})
        return 0
      end,
    }
  end)
  after_each(function () timesync.C = real end)

  it("is asked of a device once, and never of drivers that aren't DPDK's", function ()
    assert.is_true(timesync.enable(card(1001)))
    assert.is_true(timesync.enable(card(1001)))
    assert.is_false(timesync.enable(card(1011)))
    assert.is_false(timesync.enable(card(1011)))
    assert.is_false(timesync.enable(card(1002, ffi.cast("void *", 1))))
    assert.same({1001, 1011}, asked)
  end)

  it("reads stamps and clocks in nanoseconds", function ()
    stamp = {2, 5}
    assert.equal(2000000005, timesync.sent(card(1003), 10))
    assert.equal(2000000005, timesync.received(card(1003), 10, 1))
    assert.equal(2000000005, timesync.time(card(1003)))
  end)

  it("waits for a stamp, and gives up", function ()
    assert.is_nil(timesync.sent(card(1003), 100))
    assert.is_nil(timesync.time(card(1003)))
    asked, stamp, fails = {}, {0, 7}, 1000
    assert.equal(7, timesync.sent(card(1003), 60e6))
    assert.equal(1001, #asked)
  end)

  it("sets two clocks, or one of a device with itself", function ()
    timesync.synchronize(card(1004), card(1005))
    timesync.synchronize(card(1006), card(1006))
    assert.same({1004, 1005, 1006}, asked)
  end)
end)
