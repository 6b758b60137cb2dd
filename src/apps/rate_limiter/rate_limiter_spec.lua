-- SPDX-License-Identifier: Apache-2.0

local app = require("core.app")
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local counter = require("core.counter")
local link = require("core.link")
local packet = require("core.packet")
local RateLimiter = require("apps.rate_limiter.rate_limiter").RateLimiter

-- The bytes of packets of these lengths that pass.
local function passed(limiter, lengths)
  local bytes = 0
  for _, length in ipairs(lengths) do
    local p = packet.resize(packet.allocate(), length)
    if limiter:process(p) then bytes = bytes + length end
    packet.free(p)
  end
  return bytes
end

local function limiter(rate, capacity, initial)
  local l = RateLimiter:new{rate = rate, bucket_capacity = capacity,
    initial_capacity = initial}
  l.shm = {txdrop = require("ffi").new("struct counter")}
  return l
end

describe("RateLimiter", function ()
  after_each(function () app.configure(config.new()) end)

  it("lets pass what there are tokens for", function ()
    local l = limiter(0, 200)
    assert.equal(160, passed(l, {60, 100, 60, 41}))
    assert.equal(40, passed(l, {40, 1}))
    assert.equal(3, tonumber(counter.read(l.shm.txdrop)))
    assert.equal(50, passed(limiter(0, 200, 50), {50, 1}))
  end)

  it("keeps tokens and counters where its rate changes", function ()
    local c = config.new()
    local function configure(rate, capacity)
      config.app(c, "limit", RateLimiter, {rate = rate, bucket_capacity = capacity})
      app.configure(c)
      return app.app_table.limit
    end
    local l = configure(0, 200)
    assert.equal(150, passed(l, {150, 60}))
    assert.equal(l, configure(10, 300))
    assert.equal(10, l.rate)
    assert.equal(1, tonumber(counter.read(l.shm.txdrop)))
    assert.equal(50, passed(l, {50, 60}))
    configure(0, 0)
    assert.equal(0, passed(l, {1}))
    assert.equal(3, tonumber(counter.read(l.shm.txdrop)))
    assert.has_error(function () configure(-1, 0) end)
    assert.equal(0, l.rate)
  end)

  it("gets tokens with time, no more than the bucket holds", function ()
    local l = limiter(1000, 500, 0)
    local now = app.now()
    l.last_time = now - 0.1 -- then 100 bytes have come
    local got = passed(l, {100})
    assert.equal(100, got)
    l = limiter(1, 500, 0) -- so slow that none come while this runs
    l.last_time = app.now() - 1000
    local lengths = {}
    for i = 1, 600 do lengths[i] = 1 end
    got = passed(l, lengths)
    assert.is_true(got >= 500 and got < 600)
  end)

  it("stands in a graph, fused, and can be reset", function ()
    local c = config.new()
    config.app(c, "source", basic.Source, 100)
    config.app(c, "limit", RateLimiter, {rate = 0, bucket_capacity = 1000})
    config.app(c, "sink", basic.Sink)
    config.link(c, "source.output -> limit.input")
    config.link(c, "limit.output -> sink.input")
    app.configure(c)
    for _ = 1, 5 do app.breathe() end
    local l = app.app_table.limit
    local s = l:get_stat_snapshot()
    assert.equal(10, s.tx)
    assert.is_true(s.rx > 300)
    assert.equal(s.rx - s.tx, app.drops("limit").over_rate)
    assert.equal(s.rx - s.tx, tonumber(counter.read(l.shm.txdrop)))
    l:reset(0, 700)
    app.breathe()
    assert.equal(17, l:snapshot().tx)
  end)

  it("tells the time by the clock that Snabb's programs read", function ()
    local l, C = limiter(1, 1), require("ffi").C
    l.input, l.output = {input = link.new("in")}, {output = link.new("out")}
    local before = tonumber(C.get_time_ns())
    local time = l:snapshot().time
    assert.is_true(before <= time and time <= tonumber(C.get_time_ns()))
    link.free(l.input.input, "in")
    link.free(l.output.output, "out")
  end)

  it("refuses rates that can't be", function ()
    for _, bad in ipairs{-1, 0 / 0, 1 / 0, "x"} do
      assert.has_error(function () limiter(bad, 1) end)
      assert.has_error(function () limiter(1, bad) end)
    end
  end)
end)
