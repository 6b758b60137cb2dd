-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local histogram = require("core.histogram")
local shm = require("core.shm")
local shm_root = require("testing.shm_root")

local LAST = 508

describe("core.histogram", function()
  local h
  before_each(function() h = histogram.new(1e-6, 1) end)

  it("is one page, laid out as Snabb's tools expect", function()
    assert.equal(4096, ffi.sizeof(h))
    h:add(2)
    local words = ffi.cast("uint64_t *", h)
    assert.equal(1e-6, ffi.cast("double *", h)[0])
    assert.is_true(math.abs(ffi.cast("double *", h)[1] - math.log(1e6) / 507) < 1e-12)
    assert.equal(1ULL, words[2])
    assert.equal(1ULL, words[3 + LAST])
  end)

  it("puts values at the edges where they belong", function()
    for value, bucket in pairs {
      [1e-7] = 0, [1e-6 + 1e-9] = 1, [1 - 1e-9] = LAST - 1, [1.5] = LAST,
      [0] = 0, [-1] = 0, [1 / 0] = LAST, [-1 / 0] = 0, [1e-300] = 0,
    } do
      h:clear()
      h:add(value)
      assert.equal(1ULL, h.buckets[bucket])
    end
    h:clear()
    h:add(0 / 0)
    assert.equal(1ULL, h.buckets[0])
  end)

  it("stays in bounds whatever others have written into it", function()
    for _, growth in ipairs{0, -1, -1e-300, 1e-300, 0 / 0, 1 / 0} do
      for _, minimum in ipairs{0, -1, 1e-300, 0 / 0} do
        h:clear()
        h.minimum, h.growth_factor_log = minimum, growth
        for _, value in ipairs{1e-7, 1, 1e300} do h:add(value) end
        local sum = 0
        for i = 0, LAST do sum = sum + tonumber(h.buckets[i]) end
        assert.equal(3, sum)
      end
    end
  end)

  it("has numbers for bounds whatever others have written", function()
    local words = ffi.cast("uint64_t *", h)
    h:add(1e-3)
    for _, bits in ipairs{0xfff9ULL, 0xfffcULL, 0xffffULL, 0x7fffULL} do
      words[0], words[1] = bits * 2ULL^48 + 0x1234, bits * 2ULL^48 + 0x1234
      for _, low, high in h:iterate() do
        assert.equal("number", type(low))
        assert.equal("number", type(high))
      end
      assert.matches("min: %-?nan", tostring(h:snapshot()))
    end
  end)

  it("puts any value between its bucket's bounds", function()
    for _ = 1, 1000 do
      local value = math.exp(math.random() * 20 - 17)
      h:clear()
      h:add(value)
      for count, low, high in h:iterate() do
        if count == 1 then
          assert.is_true(low * (1 - 1e-9) <= value and value <= high * (1 + 1e-9))
        end
      end
    end
  end)

  it("iterates over buckets that join without gaps", function()
    local buckets, end_of_last = 0, 0
    for count, low, high in h:iterate() do
      assert.equal(0ULL, count)
      assert.is_true(math.abs(low - end_of_last) <= 1e-12 * low)
      assert.is_true(low < high)
      buckets, end_of_last = buckets + 1, high
    end
    assert.equal(509, buckets)
    assert.equal(math.huge, end_of_last)
  end)

  it("summarizes what is above its maximum as that", function()
    h:add(5)
    h:add(1 / 0)
    local least, average, greatest = h:summarize()
    for _, value in ipairs{least, average, greatest} do
      assert.is_true(math.abs(value - 1) < 1e-9)
    end
  end)

  it("summarizes all, or what came after a snapshot", function()
    assert.same({0, 0, 0}, {h:summarize()})
    h:add(0.001)
    local before = h:snapshot()
    h:add(0.1)
    h:add(0.2)
    assert.equal(1ULL, before.total)
    assert.equal(3ULL, h.total)
    local function near(expected, actual)
      assert.is_true(math.abs(actual / expected - 1) < 0.03)
    end
    local least, average, greatest = h:summarize(before)
    near(0.1, least)
    near(0.15, average)
    near(0.2, greatest)
    near(0.001, (h:summarize()))
    assert.same({0, 0, 0}, {h:summarize(h:snapshot())})
    assert.equal(before, h:snapshot(before))
    assert.equal(3ULL, before.total)
  end)

  it("says its summary", function()
    assert.equal("min: 0.000000 / avg: 0.000000 / max: 0.000000", tostring(h))
  end)

  it("clears", function()
    h:add(0.1)
    h:clear()
    assert.equal(0ULL, h.total)
    for count in h:iterate() do assert.equal(0ULL, count) end
    assert.equal(1e-6, h.minimum)
  end)

  it("times a function", function()
    local time, calls = 10, 0
    local timed = h:wrap_thunk(function() calls, time = calls + 1, time + 0.5 end,
      function() return time end)
    timed()
    timed()
    assert.equal(2, calls)
    local least, _, greatest = h:summarize()
    assert.is_true(least <= 0.5 and 0.5 <= greatest)
    assert.equal(2ULL, h.total)
  end)

  it("refuses an empty range", function()
    for _, range in ipairs {{0, 1}, {-1, 1}, {1, 1}, {2, 1}} do
      assert.has_error(function() histogram.new(range[1], range[2]) end)
    end
    assert.has_error(function() histogram.new(1, 1) end,
      "a histogram needs 0 < minimum < maximum, not 1 and 1")
  end)

  it("is shared by name, and empty when created", function()
    shm_root.make()
    local frame = shm.create_frame("engine", {latency = {histogram, 1e-6, 1}})
    frame.latency:add(0.5)
    local reader = shm.open_frame("engine")
    assert.equal(1ULL, reader.latency.total)
    assert.equal(1e-6, reader.latency.minimum)
    local again = histogram.create("engine/latency.histogram", 1e-3, 10)
    assert.equal(0ULL, reader.latency.total)
    assert.equal(1e-3, reader.latency.minimum)
    shm.unmap(again)
    shm.delete_frame(reader)
    shm.delete_frame(frame)
    shm_root.remove()
  end)
end)
