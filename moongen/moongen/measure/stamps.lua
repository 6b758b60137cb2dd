-- SPDX-License-Identifier: Apache-2.0
-- Time stamps of queues, devices and buffers, as scripts ask for them: the card's for
-- PTP packets if it has a clock, else the CPU's time stamp counter before a burst is
-- sent and after one was received. All times are nanoseconds. These are methods.

local ffi = require("ffi")
local bit = require("bit")
local clock = require("moongen.clock")
local timesync = require("moongen.measure.timesync")
local log = require("moongen.log")
local numbers = require("moongen.tasks.numbers")

local M = {tx = {}, rx = {}, device = {}, buffer = {}}

-- RTE_MBUF_F_TX_IEEE1588_TMST and RTE_MBUF_F_RX_IEEE1588_TMST (rte_mbuf_core.h)
local TX_STAMP, RX_STAMP = bit.lshift(1ULL, 51), bit.lshift(1ULL, 10)

local DEFAULT_WAIT_US = 500

local function nanoseconds(cycles) return tonumber(cycles) / clock.hz() * 1e9 end

--- The queue's bursts, or its packets, get stamps of the time stamp counter from now
--- on.
function M.by_cpu(queue) queue.queue.soft.stamps = 1 end

--- Cycles of the counter right before and right after the queue's last burst.
function M.burst(queue)
  local q = queue.queue
  return q.before, q.after
end

local function tell_all_packets(device)
  if not numbers.first_time("stamps of all packets") then return end
  log:warn("%s stamps no packets that aren't PTP's: times are the CPU's, taken as a " ..
    "burst is received, so packets of one burst have the same", tostring(device))
end

-- Queues

function M.tx:enableTimestamps() self.dev:enableTxTimestamps(self) end

function M.rx:enableTimestamps(udpPort) self.dev:enableRxTimestamps(self, udpPort) end

function M.rx:enableTimestampsAllPackets()
  self.dev:enableRxTimestampsAllPackets(self)
end

--- When the last burst (or, by the card, the last marked packet) was sent; nil if none
--- was, after so many microseconds.
function M.tx:getTimestamp(wait_us) return self.dev:getTxTimestamp(self, wait_us) end

--- When the last packet that the script received came; nil if none did.
function M.rx:getTimestamp(wait_us, register)
  return self.dev:getRxTimestamp(self, wait_us, register)
end

--- Receive packets with the counter's value in their `udata64`; waits for one.
function M.rx:recvWithTimestamps(bufs, n)
  M.by_cpu(self)
  local got = self:recv(bufs, n)
  for i = 0, got - 1 do bufs.array[i].udata64 = bufs.array[i].timestamp end
  return got
end

local DEFAULT_OFFSET = 48 -- the first in UDP's payload that is a multiple of 8

-- The 8 bytes at `offset` of the packet, as a number.
local function note_in(buf, offset)
  offset = math.floor(tonumber(offset or DEFAULT_OFFSET) / 8) * 8
  if offset ~= offset or offset < 0 or offset + 8 > buf.length then
    log:fatal("a time stamp at byte %s doesn't fit a packet of %d bytes",
      tostring(offset), buf.length)
  end
  return ffi.cast("uint64_t *", buf.data + offset)
end

--- Send the first buffer of the array, with the counter's value in its 8 bytes from
--- `offset` on (default 48). The others stay.
function M.tx:sendWithTimestamp(bufs, offset)
  if bufs.size < 1 or bufs.array[0] == nil then
    error("sendWithTimestamp: the array's first slot has no buffer", 2)
  end
  note_in(bufs.array[0], offset)[0] = clock.cycles()
  return self:sendN(bufs, 1)
end

-- Devices

function M.device:enableTxTimestamps(queue)
  if not timesync.enable(self) then M.by_cpu(queue) end
end

function M.device:enableRxTimestamps(queue)
  if not timesync.enable(self) then M.by_cpu(queue) end
end

function M.device:enableRxTimestampsAllPackets(queue)
  tell_all_packets(self)
  M.by_cpu(queue)
end

function M.device:getTxTimestamp(queue, wait_us)
  if timesync.enable(self) then return timesync.sent(self, wait_us) end
  local before = M.burst(queue or self:getTxQueue(0))
  return before ~= 0 and nanoseconds(before) or nil
end

function M.device:getRxTimestamp(queue, wait_us, register)
  if timesync.enable(self) then
    return timesync.received(self, wait_us or DEFAULT_WAIT_US, register)
  end
  local q = (queue or self:getRxQueue(0)).queue
  return q.after ~= 0 and nanoseconds(q.after) or nil
end

--- Is there a stamp of the card to be read? Any packet's (-1), as cards don't say.
function M.device:hasRxTimestamp() return timesync.enable(self) and -1 or nil end

--- Forget a stamp that nobody read.
function M.device:clearTimestamps()
  if timesync.enable(self) then timesync.received(self, 0) end
end

--- The device's clock; without one, the CPU's.
function M.device:readTime()
  return timesync.enable(self) and timesync.time(self) or clock.seconds() * 1e9
end

function M.device:resetTimeCounters() end -- luacheck: ignore 212

-- Buffers

--- Ask the card to stamp this packet as it is sent.
function M.buffer:enableTimestamps()
  self.ol_flags = bit.bor(self.ol_flags, TX_STAMP)
end

--- Did the card stamp it?
function M.buffer:hasTimestamp() return bit.band(self.ol_flags, RX_STAMP) ~= 0 end

--- The card's register that has its stamp.
function M.buffer:getTimesync() return self.timesync end

--- When it was received, of a queue that stamps all packets; else nil.
function M.buffer:getTimestamp()
  return self.timestamp ~= 0 and nanoseconds(self.timestamp) or nil
end

M.buffer.getHardwareTimestamp = M.buffer.getTimestamp

--- The same, as the time stamp counter's value; 0 if there is none.
function M.buffer:getSoftwareTimestamp() return tonumber(self.timestamp) end

--- What sendWithTimestamp wrote into it.
function M.buffer:getSoftwareTxTimestamp(offset) return note_in(self, offset)[0] end

return M
