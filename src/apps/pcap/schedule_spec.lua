-- SPDX-License-Identifier: Apache-2.0
-- When replayed packets are due.

local schedule = require("apps.pcap.schedule")

local function gaps(gap, packets)
  local result = {}
  for i, p in ipairs(packets) do
    result[i] = gap(p[1], p[2])
  end
  return result
end

local function assert_close(expected, actual)
  for i, value in ipairs(expected) do
    assert.is_near(value, actual[i], 1e-12)
  end
end

describe("apps.pcap.schedule", function()
  it("spaces packets evenly at a packet rate", function()
    assert_close({0, 1e-6, 1e-6},
      gaps(schedule.packet_rate(1e6), {{60, 0LL}, {60, 0LL}, {60, 0LL}}))
  end)

  it("leaves a packet its time on the wire at a bit rate", function()
    -- 10 Gbit/s carries 14.88 M packets of 60 bytes a second.
    assert_close({0, 67.2e-9, 1230.4e-9, 67.2e-9},
      gaps(schedule.bit_rate(1e10), {{60, 0LL}, {1514, 0LL}, {60, 0LL}, {60, 0LL}}))
  end)

  it("keeps the recorded gaps, faster or slower", function()
    local start = 1700000000000000000LL
    local packets = {{60, start}, {60, start + 1000}, {60, start + 1000},
                     {60, start + 500}, {60, start + 2500}, {60, 0LL},
                     {60, start + 4500}}
    assert_close({0, 1e-6, 0, 0, 2e-6, 0, 2e-6}, gaps(schedule.recorded(1), packets))
    assert_close({0, 5e-7, 0, 0, 1e-6, 0, 1e-6}, gaps(schedule.recorded(2), packets))
    assert_close({0, 1e-5}, gaps(schedule.recorded(0.1), packets))
  end)

  it("waits for nothing at top speed", function()
    assert.are.same({0, 0}, gaps(schedule.topspeed(), {{60, 5LL}, {60, 9LL}}))
  end)
end)
