-- SPDX-License-Identifier: Apache-2.0
-- When packets are due, with a clock that the test sets.

local ffi = require("ffi")
local packet = require("core.packet")
local schedule = require("net.rate.schedule")
local C = require("core.declare")("net/rate/schedule.h")

-- How many are sent at the time `now`, each `gap` seconds after the one before.
local function burst(s, now, gap)
  local n = 0
  if schedule.begin(s, now) then
    while s.due <= now do
      schedule.advance(s, gap)
      n = n + 1
    end
  end
  return n
end

local NS, MOST = 1e9, 256

-- Both forms: new(gap, catch_up) returns a function of the time that returns how many
-- packets go then, and another of what was skipped so far, all in seconds.
local FORMS = {
  ["in Lua"] = function (gap, catch_up)
    local s = schedule.new(catch_up)
    return function (now) return burst(s, now, gap) end,
      function () return s.skipped end
  end,
  ["in C"] = function (gap, catch_up)
    local s = ffi.new("struct pg_schedule", {catch_up = catch_up * NS})
    C.pg_schedule_set(s, C.PG_CBR, gap * NS, 0)
    local p = packet.allocate()
    local packets = ffi.new("struct packet *[?]", MOST)
    for i = 0, MOST - 1 do packets[i] = p end
    packet.free(p) -- only its length is looked at
    return function (now)
      s.left = now * NS -- it sent all the time
      return C.pg_schedule_due(s, packets, MOST, now * NS)
    end, function () return tonumber(s.skipped) / NS end
  end,
}

for name, new in pairs(FORMS) do
  describe("A schedule " .. name, function ()
    it("sends what is due, and no more", function ()
      local sent_at, skipped = new(1e-6, 0.1)
      local counts = {}
      for i, us in ipairs{0, 0.9, 1.5, 4.5, 4.9} do counts[i] = sent_at(us * 1e-6) end
      assert.same({1, 0, 1, 3, 0}, counts)
      assert.equal(0, skipped())
    end)

    it("makes up for as much as it was told to, and tells how much it gave up",
      function ()
        local sent_at, skipped = new(0.125, 1)
        local counts = {}
        for i, s in ipairs{0, 1.125, 1.2, 11.2, 11.325} do counts[i] = sent_at(s) end
        assert.same({1, 9, 0, 9, 1}, counts)
        assert.is_near(11.2 - 1.25 - 1, skipped(), 1e-6)
        sent_at = new(0.125, 0)
        assert.same({1, 1, 1}, {sent_at(0), sent_at(10), sent_at(10.125)})
      end)

    it("counts from when packets were due", function ()
      local sent_at = new(0.3, 1)
      local n = 0
      for i = 0, 1000 do n = n + sent_at(i * 0.29 + i % 7 * 0.01) end
      assert.near(1 + math.floor(290 / 0.3), n, 1)
    end)
  end)
end

describe("A schedule", function ()
  it("spaces packets evenly, without drift", function ()
    local s = schedule.new()
    for i = 1, 3e5 do
      assert(schedule.begin(s, s.due + i % 7 * 1e-8)) -- each a little late
      schedule.advance(s, 1 / 3e5)
    end
    assert.is_true(math.abs(s.due - 1) < 1e-9, s.due)
  end)

  it("catches up a little, and tells how much it gave up", function ()
    local s = schedule.new()
    burst(s, 0, 1e-3)
    local n = burst(s, 2.0005, 1e-3)
    assert.is_true(n == 101 or n == 100, n)
    assert.is_true(math.abs(s.skipped - (2.0005 - 0.001 - 0.1)) < 1e-9)
    assert.is_true(math.abs(s.latest - 1.9995) < 1e-9)
    assert.are.equal(1, burst(s, 2.0015, 1e-3))
    assert.is_true(math.abs(s.latest - 1.9995) < 1e-9) -- the worst is kept
  end)

  it("puts a packet's own delay off once, however often it is asked", function ()
    local s, p = ffi.new("struct pg_schedule", {catch_up = 1e9}), packet.allocate()
    local one = ffi.new("struct packet *[1]", p)
    p.note64[0] = 10 -- bytes, each 4 ticks long
    C.pg_schedule_set(s, C.PG_SPACING, 0, 4)
    local sent = {}
    for now = 1000, 1060, 10 do
      sent[#sent + 1] = C.pg_schedule_due(s, one, 1, now)
    end
    assert.same({0, 0, 0, 0, 1, 0, 0}, sent)
    assert.equal(1, C.pg_schedule_due(s, one, 1, 1080))
    packet.free(p)
  end)

  it("makes up for nothing after a restart", function ()
    local s = schedule.new()
    burst(s, 0, 0.25)
    schedule.restart(s, 7)
    assert.are.equal(1, burst(s, 7, 0.25))
    assert.are.equal(0.5, s.due - s.skipped) -- two gaps
    assert.are.equal(0, s.latest)
  end)

  it("can be hurried when it waits for long", function ()
    local s = schedule.new()
    burst(s, 0, 1e6)
    assert.are.equal(0, burst(s, 1, 1))
    schedule.restart(s, 1)
    assert.are.equal(1, burst(s, 1, 1))
    assert.are.equal(2, s.due)
  end)
end)
