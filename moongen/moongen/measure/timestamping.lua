-- SPDX-License-Identifier: Apache-2.0
-- libmoon's module `timestamping`: sends one PTP packet at a time and measures how long
-- it takes to come back. By the cards' clocks if both have one; else by the CPU's time
-- stamp counter, from before the burst that sends it to after the burst that receives
-- it.

local arguments = require("moongen.arguments")
local ffi = require("ffi")
local memory = require("memory")
local clock = require("moongen.clock")
local ptp = require("moongen.measure.ptp")
local stamps = require("moongen.measure.stamps")
local timesync = require("moongen.measure.timesync")
local libmoon = require("moongen.tasks.libmoon")
local log = require("moongen.log")
local quiet = require("lib.quiet")
local numbers = require("moongen.tasks.numbers")

local M = {}

local Timestamper = {}
Timestamper.__index = Timestamper

local UDP_SIZE, ETHERNET_SIZE = 76, 60 -- smallest packets, bytes without CRC
local WAIT_MS = 15                     -- then a packet counts as lost
local RECEIVE_US = 1000
local LOOK_S = 2e-3                    -- between two bursts: no more of a pause counts
local SENT_WITHIN_US = 500
local RECEIVE_BUFFERS = 128
local SEQUENCES = 2 ^ 16

-- Packets as scripts expect them before they change them.
local function packets_of(queue, udp)
  return memory.createMemPool(function (buf)
    local packet = udp and buf:getUdpPtpPacket() or buf:getPtpPacket()
    packet:fill{ethSrc = queue}
  end)
end

-- PTP packets go to the queue that asks for them.
local function sort(queue, udp)
  if udp then queue:filterUdpTimestamps() else queue:filterL2Timestamps() end
end

local function check_queue(queue, what)
  if type(queue) ~= "table" or not queue.queue then
    log:fatal("a timestamper %s queue, not %s", what, arguments.shown(queue))
  end
end

--- Measures from a transmit queue to a receive queue. `mem`: packets to send (a pool),
--- else PTP over Ethernet, or over UDP if `udp` is true.
function M:newTimestamper(txQueue, rxQueue, mem, udp)
  check_queue(txQueue, "sends to a transmit")
  check_queue(rxQueue, "receives from a receive")
  if mem ~= nil and not ffi.istype("struct mempool", mem) then
    log:fatal("a timestamper's packets are of a pool, not of %s", arguments.shown(mem))
  end
  mem = mem or packets_of(txQueue, udp)
  local by_card = timesync.enable(txQueue.dev) and timesync.enable(rxQueue.dev)
  if not by_card then
    stamps.by_cpu(txQueue)
    stamps.by_cpu(rxQueue)
  end
  sort(rxQueue, udp)
  return setmetatable({
    mem = mem, txBufs = mem:bufArray(1), rxBufs = mem:bufArray(RECEIVE_BUFFERS),
    txQueue = txQueue, rxQueue = rxQueue, txDev = txQueue.dev, rxDev = rxQueue.dev,
    udp = udp, seq = 1, by_card = by_card,
  }, Timestamper)
end

--- The same with PTP over UDP.
function M:newUdpTimestamper(txQueue, rxQueue, mem)
  return self:newTimestamper(txQueue, rxQueue, mem, true)
end

-- What is told with the first latency. How long sending took, and the time since the
-- queue was last asked for packets, are what the stamps may be off by.
local function tell_error(sending, waiting)
  if not numbers.first_time("stamps by the CPU") then return end
  log:info("Timestamps are the CPU's, from before a burst is sent to after one was " ..
    "received: the first latency is up to %.0f ns too high", (sending + waiting) * 1e9)
end

-- Ready to be sent: with its number, and as the script wants it.
local function prepare(self, size, modify)
  self.txBufs:alloc(size)
  local buf = self.txBufs[1]
  if self.by_card then buf:enableTimestamps() end
  if modify then modify(buf) end
  if self.udp then
    buf:getUdpPtpPacket():setLength(size)
    self.txBufs:offloadUdpChecksums()
  end
  local number = self.seq
  self.seq = (number + 1) % SEQUENCES
  if not ptp.set_sequence(buf.data, buf.length, number) then
    self.txBufs:freeAll()
    log:fatal("what a timestamper sends has to be a PTP packet%s of at least %d bytes",
      self.udp and " over UDP" or "", self.udp and UDP_SIZE or 48)
  end
  return number
end

-- The place of the packet in the array of those received, or nil.
local function find(self, received, number)
  for i = 0, received - 1 do
    local buf = self.rxBufs.array[i]
    if ptp.sequence(buf.data, buf.length) == number then return i end
  end
end

-- Receive until `take` (called with a buffer) has seen the packet, or time is over.
-- Returns what it returned, and how many packets came.
local function receive(self, number, seconds, take)
  local wait, count = quiet.after(seconds, clock.seconds, LOOK_S), 0
  local asked
  repeat
    asked = clock.seconds()
    local received = self.rxQueue:tryRecv(self.rxBufs, RECEIVE_US)
    count = count + received
    local place = find(self, received, number)
    local result = place and take(self.rxBufs.array[place], asked)
    self.rxBufs:free(received)
    if place then return result, count end
  until wait:over(count) or not libmoon.running()
  return nil, count
end

local function by_cpu(self, number, seconds)
  self.txQueue:send(self.txBufs)
  local before, after = stamps.burst(self.txQueue)
  return receive(self, number, seconds, function (buf, asked)
    -- Below 0 where the CPUs' counters differ by more.
    local latency = tonumber(ffi.cast("int64_t", buf.timestamp - before)) / clock.hz()
    tell_error(tonumber(after - before) / clock.hz(),
      math.max(0, math.min(latency, clock.seconds() - asked)))
    return latency > 0 and math.ceil(latency * 1e9) or nil
  end)
end

local function by_card(self, number, seconds)
  M.syncClocks(self.txDev, self.rxDev)
  self.rxDev:clearTimestamps()
  self.txQueue:send(self.txBufs)
  local sent = timesync.sent(self.txDev, SENT_WITHIN_US)
  if not sent then
    log:warn("Failed to timestamp packet on transmission")
    clock.sleep(seconds)
    return nil, 0
  end
  return receive(self, number, seconds, function (buf)
    local came = timesync.received(self.rxDev, 0, buf:getTimesync())
    local latency = came and came - sent
    -- Some cards' clocks jump as a link comes up.
    return latency and latency > 0 and latency < 2e9 * seconds and latency or nil
  end)
end

--- Send a packet of `size` bytes (default: the smallest), which `modify(buf)` may
--- change, and wait up to `maxWait` milliseconds (default 15) for it. Returns the
--- latency in nanoseconds, or nil if it was lost; and how many packets came. `size` may
--- be left out.
function Timestamper:measureLatency(size, modify, maxWait)
  if type(size) == "function" then size, modify, maxWait = nil, size, modify end
  size = size or self.udp and UDP_SIZE or ETHERNET_SIZE
  local number = prepare(self, size, modify)
  local measure = self.by_card and by_card or by_cpu
  return measure(self, number, (maxWait or WAIT_MS) / 1000)
end

--- Set the clocks of two devices to the same time. The CPU's is one for all.
function M.syncClocks(a, b)
  if timesync.enable(a) and timesync.enable(b) then timesync.synchronize(a, b) end
end

--- How far the clock of `a` is ahead of that of `b`, in nanoseconds; 0 where both are
--- the CPU's.
function M.getClockDiff(a, b)
  if not (timesync.enable(a) and timesync.enable(b)) then return 0 end
  return timesync.time(a) - timesync.time(b)
end

M.readTimestampsSoftware = require("moongen.measure.gaps")

for name, f in pairs(require("moongen.measure.stamped")) do M[name] = f end

return M
