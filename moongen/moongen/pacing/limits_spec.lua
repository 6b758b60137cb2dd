-- SPDX-License-Identifier: Apache-2.0
-- net/rate/limits.c by a clock that the specs set: a cycle is a nanosecond.
local ffi = require("ffi")
local packet = require("core.packet")
local pacer = require("moongen.pacing.pacer")
local rates = require("moongen.pacing.rates")
local C = require("core.declare")("native/moongen.h")

local HZ, SIZE = 1e9, 60
local GAP = 5120 -- of such packets with their CRC at 100 Mbit/s, ns

describe("limits", function ()
  local device, array

  before_each(function ()
    device = ffi.new("struct mg_device")
    device.ntx = 2
    for i = 0, 1 do device.tx[i].device = device end
    array = ffi.new("struct packet *[256]")
    for i = 0, 255 do
      array[i] = packet.allocate()
      array[i].length = SIZE
    end
  end)

  after_each(function ()
    for i = 0, 255 do packet.free(array[i]) end
  end)

  local function limited(what, i, mbit)
    local p = what == "device" and rates.pacer_of_device{c = device, id = 0}
      or rates.pacer_of_queue{queue = device.tx + i, id = 0, qid = i}
    p.hz, p.times.catch_up = HZ, HZ
    pacer.rate(p, mbit)
    return p
  end

  local function due(i, now, n, first)
    local limits, again = ffi.new("struct pg_limits"), ffi.new("uint64_t[1]")
    C.mg_limits_of(device.tx + i, first, limits)
    return C.pg_limits_take(limits, array, n or 256, now, again)
  end

  it("are none at first", function ()
    assert.equal(0, device.tx[0].paced)
    assert.equal(256, due(0, 5000))
  end)

  it("of a device are its queues' together", function ()
    limited("device", nil, 100)
    assert.same({1, 1}, {device.tx[0].paced, device.tx[1].paced})
    assert.equal(1, due(0, 1e6))
    assert.equal(0, due(1, 1e6))
    assert.equal(4, due(1, 1e6 + 4 * GAP))
    assert.equal(0, due(0, 1e6 + 4 * GAP))
    assert.equal(3, due(0, 1e6 + 7 * GAP))
  end)

  it("of a device are one queue's if only that is used", function ()
    limited("device", nil, 100)
    local sent = 0
    for now = 1e6, 1e6 + 999 * GAP, GAP do sent = sent + due(0, now) end
    assert.equal(1000, sent)
  end)

  it("of queue and device hold both", function ()
    limited("device", nil, 100)
    limited("queue", 0, 25)
    due(0, 1e6)
    assert.equal(0, due(0, 1e6 + GAP))          -- the queue's
    assert.equal(1, due(1, 1e6 + GAP))
    assert.equal(3, due(1, 1e6 + 4 * GAP))
    assert.equal(0, due(0, 1e6 + 4 * GAP))      -- the device's
    assert.equal(1, due(0, 1e6 + 5 * GAP))
  end)

  it("take only what goes", function ()
    local queue = limited("queue", 0, 100)
    local all = limited("device", nil, 50)
    due(0, 1e6)
    assert.equal(2, due(0, 1e6 + 4 * GAP)) -- the queue would let 4 go
    assert.equal(3, tonumber(queue.times.packets))
    assert.equal(3, tonumber(all.times.packets))
    assert.equal(1e6 + 3 * GAP, tonumber(queue.times.due))
    assert.equal(0, due(0, 1e6 + 5 * GAP))
    assert.equal(3, tonumber(queue.times.packets))
  end)

  it("of a limiter come on top", function ()
    local limiter = pacer.new("limiter", 1, HZ)
    pacer.cbr(limiter, 10 * GAP)
    limited("queue", 0, 100)
    assert.equal(1, due(0, 1e6, 256, limiter))
    assert.equal(9, due(0, 1e6 + 9 * GAP))
    assert.equal(0, due(0, 1e6 + 9 * GAP, 256, limiter))
    assert.equal(1, due(0, 1e6 + 10 * GAP, 256, limiter))
    assert.equal(0, due(0, 1e6 + 10 * GAP))
  end)

  it("end", function ()
    local queue, all = limited("queue", 0, 100), limited("device", nil, 50)
    due(0, 1e6)
    pacer.unpaced(all)
    assert.equal(1, due(0, 1e6 + GAP))
    pacer.unpaced(queue)
    assert.equal(256, due(0, 1e6 + GAP))
  end)

  it("draw random gaps once, whoever else says no", function ()
    local function times(mbit)
      device = ffi.new("struct mg_device")
      device.ntx, device.tx[0].device = 1, device
      local p = pacer.new("limiter", 7, HZ)
      pacer.poisson(p, 10 * GAP)
      if mbit then limited("device", nil, mbit) end
      local list, now = {}, 1e6
      for i = 1, 50 do
        while due(0, now, 1, p) == 0 do now = now + 64 end
        list[i] = tonumber(p.times.last)
      end
      return list
    end
    assert.same(times(), times(1e4))
  end)
end)
