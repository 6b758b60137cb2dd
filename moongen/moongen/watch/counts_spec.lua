-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local counts = require("moongen.watch.counts")
local pacer = require("moongen.pacing.pacer")
local rates = require("moongen.pacing.rates")

describe("counts that are watched", function ()
  local seen = ffi.new("uint64_t[3]")
  local to = ffi.cast("uint64_t *", seen)

  before_each(function () ffi.fill(seen, ffi.sizeof(seen)) end)

  it("are copied until nobody watches them", function ()
    local count = ffi.new("uint64_t[2]")
    counts.watch(ffi.cast("uint64_t *", count), to)
    counts.watch(ffi.cast("uint64_t *", count) + 1, to + 1)
    count[0], count[1] = 7, 2 ^ 60
    counts.copy()
    assert.same({7, 2 ^ 60}, {tonumber(seen[0]), tonumber(seen[1])})
    counts.unwatch(to + 1)
    counts.unwatch(to + 2) -- nobody does
    count[0], count[1] = 8, 9
    counts.copy()
    assert.same({8, 2 ^ 60}, {tonumber(seen[0]), tonumber(seen[1])})
    counts.unwatch(to)
  end)

  it("are the lower rate of a queue and its device", function ()
    local device = ffi.new("struct mg_device", {ntx = 1})
    local queue = device.tx + 0
    queue.device = device
    local function limit()
      counts.copy()
      return tonumber(seen[0])
    end
    counts.watch_limit(queue, to)
    assert.equal(0, limit())
    pacer.rate(rates.pacer_of_device{c = device, id = 0}, 50)
    assert.near(50e6, limit(), 1)
    pacer.rate(rates.pacer_of_queue{queue = queue, id = 0}, 100)
    assert.near(50e6, limit(), 1)
    pacer.rate(queue.pacer, 10)
    assert.near(10e6, limit(), 1)
    counts.unwatch(to)
  end)

  it("are a thread's CPU time", function ()
    counts.watch_thread(to)
    counts.copy()
    local before = seen[0]
    for _ = 1, 1000 do counts.copy() end
    assert.is_true(before > 0 and seen[0] > before)
    counts.unwatch(to)
  end)
end)
