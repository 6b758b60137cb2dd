-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local rates = require("moongen.pacing.rates")
local C = require("core.declare")("native/moongen.h")

-- A queue of a device without a limiter of its own (as packet and pcap ports).
local function new_queue(speed)
  local port = ffi.new("struct port")
  port.own = ffi.cast("void *", 1)
  local device = ffi.new("struct mg_device")
  local native = ffi.new("struct mg_queue")
  native.port, native.device = port, device
  local queue = {id = 7, qid = 0, queue = native, keep = {port, device}, dev = {
    getLinkStatus = function () return {speed = speed or 10000} end}}
  return setmetatable(queue, {__index = rates.queue, __tostring = function ()
    return "[TxQueue: id=7, qid=0]"
  end})
end

local function pacer_of(queue)
  return queue.queue.pacer ~= nil and queue.queue.pacer
end

describe("rates", function ()
  it("pace in software where the device can't", function ()
    local queue = new_queue()
    queue:setRate(100)
    local p = pacer_of(queue)
    assert.equal(C.PG_RATE, p.times.pattern)
    assert.equal(100, p.asked)
    queue:setRate("50") -- as it came from the command line
    assert.equal(50, p.asked)
    assert.equal(p, pacer_of(queue))
  end)

  it("are no limit if they are 0, or the link's", function ()
    for _, rate in ipairs{0, 10000} do
      local queue = new_queue()
      queue:setRate(rate)
      assert.is_false(pacer_of(queue))
      queue:setRate(10)
      queue:setRate(rate)
      assert.equal(C.PG_UNPACED, pacer_of(queue).times.pattern)
    end
  end)

  it("above the link's are told", function ()
    local log, said = require("moongen.log"), {}
    local info = log.info
    log.info = function (_, text, ...) said[#said + 1] = text:format(...) end
    local queue = new_queue()
    for _, rate in ipairs{10000, 10001} do queue:setRate(rate) end
    log.info = info
    assert.is_false(pacer_of(queue))
    assert.same({"[TxQueue: id=7, qid=0]: 10001 Mbit/s is more than the link's 10000, "
      .. "so nothing is limited"}, said)
  end)

  it("count packets with the CRC", function ()
    local queue = new_queue()
    queue:setRateMpps(0.1)
    assert.near(51.2, pacer_of(queue).asked, 1e-9)
    queue:setRateMpps(0.1, 124)
    assert.near(102.4, pacer_of(queue).asked, 1e-9)
  end)

  it("are refused if they aren't numbers from 0 on", function ()
    for value, says in pairs{[-1] = "not %-1", fast = "not fast"} do
      assert.error_matches(function () new_queue():setRate(value) end,
        "a rate in Mbit/s is a number from 0 on %(0: no limit%), " .. says)
    end
    assert.error_matches(function () new_queue():setRateMpps(nil) end,
      "a rate in Mpps is a number from 0 on")
  end)

  it("of a device are its own, not its queues'", function ()
    local queue = new_queue()
    local native = queue.queue.device
    local device = {id = 7, c = native, getTxQueue = function () return queue end}
    rates.device.setRate(device, 0)
    assert.is_true(native.pacer == nil)
    rates.device.setRate(device, 100)
    assert.is_false(pacer_of(queue))
    assert.equal(100, native.pacer.asked)
    rates.device.setRate(device, 10000)
    assert.equal(C.PG_UNPACED, native.pacer.times.pattern)
  end)

  it("of buffers are delays in bytes", function ()
    local buf = {pkt_len = 60, setDelay = rates.buffer.setDelay}
    rates.buffer.setRate(buf, 1)
    assert.equal(1250 - 84, buf.udata64)
    rates.buffer.setRate(buf, 100)
    assert.equal(0, buf.udata64)
  end)

  it("begin delays of packets once, beside the queue's rate", function ()
    local queue, through = new_queue()
    queue.sendThrough = function (_, p, _, n)
      through = p
      return n
    end
    queue:setRate(100)
    local bufs = {size = 8}
    assert.equal(8, queue:sendWithDelay(bufs))
    local p = queue.queue.delays
    assert.equal(through, p)
    assert.equal(C.PG_DELAY, p.times.pattern)
    assert.equal(C.PG_RATE, pacer_of(queue).times.pattern)
    p.times.packets = 8
    assert.equal(3, queue:sendWithDelay(bufs, 14.88, 3))
    assert.equal(8, tonumber(p.times.packets)) -- not begun anew
  end)
end)
