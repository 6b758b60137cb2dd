-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local packet = require("core.packet")
local pacer = require("moongen.pacing.pacer")
local C = require("core.declare")("native/moongen.h")

local HZ = 1e9 -- a cycle is a nanosecond

-- The times at which packets of this size may go, by a clock that takes what it asks.
local function schedule(p, count, size, delay_of)
  local one = packet.allocate()
  one.length = size
  local array = ffi.new("struct packet *[1]", one)
  local times, now = {}, 5000
  for i = 1, count do
    if delay_of then one.note64[0] = delay_of(i) end
    while C.pg_schedule_due(p.times, array, 1, now) == 0 do
      now = tonumber(p.times.due)
    end
    times[i] = now
  end
  packet.free(one)
  return times
end

local function gaps(times)
  local list = {}
  for i = 2, #times do list[i - 1] = times[i] - times[i - 1] end
  return list
end

describe("pacer", function ()
  local p
  before_each(function () p = pacer.new("[TxQueue: id=0, qid=0]", 1, HZ) end)

  it("lets everything go at first, and again", function ()
    assert.same({5000, 5000, 5000}, schedule(p, 3, 60))
    pacer.rate(p, 100)
    pacer.unpaced(p)
    assert.same({5000, 5000, 5000}, schedule(p, 3, 60))
  end)

  it("counts Mbit/s with the CRC and without framing", function ()
    pacer.rate(p, 100)
    assert.same({5000, 10120, 15240}, schedule(p, 3, 60)) -- 64 * 8 bits at 0.1 / ns
  end)

  it("doesn't drift where a gap isn't whole", function ()
    pacer.rate(p, 300)
    local times = schedule(p, 30001, 60)
    assert.near(30000 * 64 * 8 / 0.3, times[30001] - times[1], 1)
  end)

  it("doesn't count from when a packet was sent", function ()
    pacer.cbr(p, 1000)
    local array = ffi.new("struct packet *[8]")
    for i = 0, 7 do array[i] = packet.allocate() end
    assert.equal(1, C.pg_schedule_due(p.times, array, 8, 5000))
    assert.equal(0, C.pg_schedule_due(p.times, array + 1, 7, 5999))
    assert.equal(3, C.pg_schedule_due(p.times, array + 1, 7, 8900)) -- 6000, 7000, 8000
    assert.equal(9000, tonumber(p.times.due))
    for i = 0, 7 do packet.free(array[i]) end
  end)

  it("makes up for 100 ms, and gives up what is more", function ()
    pacer.cbr(p, 1e6)
    local array = ffi.new("struct packet *[256]")
    for i = 0, 255 do array[i] = packet.allocate() end
    assert.equal(1, C.pg_schedule_due(p.times, array, 256, 5000))
    p.times.left = 5000
    assert.equal(100, C.pg_schedule_due(p.times, array, 256, 5000 + 100e6))
    p.times.left = 5000 + 220e6
    assert.equal(101, C.pg_schedule_due(p.times, array, 256, 5000 + 221e6))
    assert.equal(20e6, tonumber(p.times.skipped)) -- due at 101 ms, sending all the time
    p.times.left = 5000 + 221e6
    assert.equal(1, C.pg_schedule_due(p.times, array, 256, 5000 + 521e6))
    assert.equal(299e6, tonumber(p.times.idle)) -- the sender's own pause
    assert.equal(20e6, tonumber(p.times.skipped))
    for i = 0, 255 do packet.free(array[i]) end
  end)

  -- Kolmogorov-Smirnov: the largest distance of the gaps' distribution from the
  -- exponential one, against the bound for a level of 0.1 %.
  it("draws gaps of an exponential distribution", function ()
    local n, mean = 20000, 20000
    pacer.poisson(p, mean, 10000)
    local list = gaps(schedule(p, n + 1, 60))
    local wire = 84 * 8 / 10 -- no gap is shorter
    local sum, squares, beyond = 0, 0, 0
    for _, gap in ipairs(list) do
      sum, squares = sum + gap, squares + gap * gap
      if gap > 2 * mean then beyond = beyond + 1 end
    end
    local average = sum / n
    assert.near(mean, average, mean * 0.02)
    assert.near(1, math.sqrt(squares / n - average ^ 2) / (mean - wire), 0.03)
    assert.near(math.exp(-2), beyond / n, 0.01)
    table.sort(list)
    local distance = 0
    for i, gap in ipairs(list) do
      local wanted = 1 - math.exp(-math.max(gap - wire, 0) / (mean - wire))
      distance = math.max(distance, math.abs(wanted - i / n),
        math.abs(wanted - (i - 1) / n))
    end
    assert.is_true(distance < 1.95 / math.sqrt(n), "distance " .. distance)
    assert.is_true(list[1] >= wire - 1)
  end)

  it("draws the same gaps for the same seed, others for another", function ()
    local function times(seed)
      local q = pacer.new("q", seed, HZ)
      pacer.poisson(q, 1000)
      return schedule(q, 20, 60)
    end
    assert.same(times(7), times(7))
    assert.are_not.same(times(7), times(8))
  end)

  it("waits from the start of a packet, or from its end", function ()
    local function delay(i) return i == 1 and 0 or 1250 end -- 1 us at 10 Gbit/s
    pacer.spacing(p, 10000)
    assert.same({5000, 6000, 7000}, schedule(p, 3, 101, delay))
    pacer.delay(p, 10000)
    local times = schedule(p, 3, 101, delay) -- 125 bytes on the wire: 0.1 us
    assert.same({1100, 1100}, gaps(times))
  end)

  it("never sends what is to wait for longer than the counter goes", function ()
    local one, array = packet.allocate(), ffi.new("struct packet *[2]")
    array[0], array[1] = one, one
    one.length = 60
    for name, set in pairs{
      rate = function () pacer.rate(p, 1e-18) end,
      cbr = function () pacer.cbr(p, math.huge) end,
      poisson = function () pacer.poisson(p, math.huge) end,
      delay = function () pacer.delay(p, 1) end,
    } do
      set()
      one.note64[0] = 0
      assert.equal(1, C.pg_schedule_due(p.times, array, 1, 5000), name)
      one.note64[0] = 0x7fffffffffffffffLL
      for _, now in ipairs{5000, 1e10, 2 ^ 62} do
        assert.equal(0, C.pg_schedule_due(p.times, array, 2, now), name)
      end
    end
    packet.free(one)
  end)

  it("takes delays below 0 as none", function ()
    pacer.spacing(p, 10000)
    assert.same({5000, 5000}, schedule(p, 2, 60, function () return -100 end))
  end)

  it("tells what was reached", function ()
    pacer.rate(p, 100)
    assert.is_nil(pacer.sentence(p))
    local times = schedule(p, 101, 60)
    p.times.left = times[101]
    assert.equal("[TxQueue: id=0, qid=0]: 100 Mbit/s of 100 Mbit/s reached " ..
      "(+0.00 %), paced in software", pacer.sentence(p))
    p.times.left = times[1] + 2 * (times[101] - times[1])
    assert.near(-0.5, pacer.reached(p).error, 1e-6)
    pacer.cbr(p, 1000)
    schedule(p, 11, 60)
    p.times.left = p.times.first + 10000
    assert.near(1, pacer.reached(p).rate, 1e-9)
  end)

  it("knows the counter's rate better than DPDK, which rounds it", function ()
    local hz = C.pg_tsc_hz_measured()
    -- The clock, and the counter before and behind it, between which others may have
    -- the CPU: bounds for what went by.
    local function look()
      local from, seconds = C.pg_tsc(), C.pg_monotonic()
      return seconds, from, C.pg_tsc()
    end
    local began, first, last = look()
    C.pg_sleep(0.2)
    local ended, from, to = look()
    local took = ended - began
    assert.is_true(tonumber(from - last) / took / hz < 1 + 1e-3)
    assert.is_true(tonumber(to - first) / took / hz > 1 - 1e-3)
    assert.equal(hz, C.pg_tsc_hz_measured())
  end)

  it("lists all there are", function ()
    local newest
    for _, each in pacer.all() do newest = each end
    assert.equal(p, newest)
  end)
end)
