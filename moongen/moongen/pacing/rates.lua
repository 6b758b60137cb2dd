-- SPDX-License-Identifier: Apache-2.0
-- Rates of transmit queues, as scripts set them: by the card where it has a limiter,
-- else paced in software. These are methods of queues and devices.

local ffi = require("ffi")
local lossy = require("moongen.pacing.lossy")
local pacer = require("moongen.pacing.pacer")
local log = require("moongen.log")
local C = require("core.declare")("native/moongen.h")

local M = {queue = {}, device = {}}

local CRC_BYTES = 4
local GAP_BYTES = 20 -- preamble and gap
local DEFAULT_SIZE = 60    -- bytes without CRC
local MOST_MBIT = 65535    -- DPDK 22.11 takes 16 bits

-- What `what` is to be: a number of at least 0. Scripts pass arguments as they came.
local function number(value, what)
  local n = tonumber(value)
  if not n or n ~= n or n < 0 then
    log:fatal("%s is a number from 0 on (0: no limit), not %s", what, tostring(value))
  end
  return n
end

local QUEUES, DELAYS, DEVICES = ffi.offsetof("struct mg_queue", "pacer"),
  ffi.offsetof("struct mg_queue", "delays"), ffi.offsetof("struct mg_device", "pacer")

-- The pacer of `of`, a queue or device, to which `native` has a pointer at that offset.
-- The first who asks for it makes it.
local function pacer_of(of, native, offset)
  local at = ffi.cast("char *", native) + offset
  local p = C.pg_pacer_at(ffi.cast("struct pg_pacer **", at), tostring(of),
    of.id * 1000 + (of.qid or 999) + 1)
  if p == nil then error("no memory for a rate limiter", 0) end
  return p
end

--- The pacer of a queue.
function M.pacer_of_queue(queue)
  local p = pacer_of(queue, queue.queue, QUEUES)
  queue.queue.paced = 1
  return p
end

--- That of all queues of a device.
function M.pacer_of_device(device)
  local p = pacer_of(device, device.c, DEVICES)
  for i = 0, device.c.ntx - 1 do device.c.tx[i].paced = 1 end
  return p
end

--- Mbit/s of the link; nil if it isn't known.
function M.link_speed(queue)
  local speed = tonumber(queue.dev:getLinkStatus().speed)
  return speed and speed > 0 and speed or nil
end

-- What a user gives as the rate of a queue or device (`of`), in Mbit/s; 0: no limit.
local function wanted_rate(mbit, of, queue)
  mbit = number(mbit, "a rate in Mbit/s")
  local most = M.link_speed(queue) or math.huge
  if mbit > most then
    log:info("%s: %.6g Mbit/s is more than the link's %.6g, so nothing is limited",
      tostring(of), mbit, most)
  end
  return mbit >= most and 0 or mbit
end

-- The card's own limiter, which takes whole Mbit/s. 0 lets everything go.
local function by_card(queue, mbit)
  local q = queue.queue
  local has_queue = q.device.sinks >= q.device.ntx -- of the card, for itself
  return mbit % 1 == 0 and mbit <= MOST_MBIT and has_queue
    and C.pg_port_limit_queue(q.port, q.qid, mbit) == 0
end

--- Send with `mbit` Mbit/s: with 4 bytes of CRC for each packet, without preamble and
--- gap. 0, or what the link has or more: no limit. All ways to send keep to it.
function M.queue:setRate(mbit)
  mbit = wanted_rate(mbit, self, self)
  if by_card(self, mbit) or mbit == 0 then
    if self.queue.pacer ~= nil then pacer.unpaced(self.queue.pacer) end
  else
    pacer.rate(M.pacer_of_queue(self), mbit)
  end
end

--- Send so many million packets a second of `size` bytes (without CRC, default 60).
function M.queue:setRateMpps(mpps, size)
  mpps = number(mpps, "a rate in Mpps")
  self:setRate(mpps * ((size or DEFAULT_SIZE) + CRC_BYTES) * 8)
end

--- Send with `mbit` Mbit/s on the wire, where packets have `size` bytes with CRC
--- (default 64): a name of 2014.
function M.queue:setWireRate(mbit, size)
  size = number(size or DEFAULT_SIZE + CRC_BYTES, "a number of bytes")
  self:setRate(number(mbit, "a rate in Mbit/s") * size / (size + GAP_BYTES))
end

--- Send packets with the delays that they have (`buf:setDelay`): so many bytes on the
--- wire after the end of the packet before. `n`: only the first of them. MoonGen fills
--- the gaps with broken packets; here they are empty, so no driver has to be patched.
--- The queue's rate holds, too. Returns the number of packets.
function M.queue:sendWithDelay(bufs, _, n)
  n = n or bufs.size
  local p = self.queue.delays
  if p == nil then p = pacer_of(self, self.queue, DELAYS) end
  if p.times.pattern ~= C.PG_DELAY then pacer.delay(p, M.link_speed(self)) end
  return self:sendThrough(p, bufs, n)
end

--- The same, and lose each with a probability (moongen.pacing.lossy).
M.queue.sendWithDelayLoss = lossy.send

--- Send with at most `mbit` Mbit/s (0: no limit) on all queues together, whichever are
--- used. The queues' own rates hold, too.
function M.device:setRate(mbit)
  mbit = wanted_rate(mbit, self, self:getTxQueue(0))
  if mbit > 0 then
    pacer.rate(M.pacer_of_device(self), mbit)
  elseif self.c.pacer ~= nil then
    pacer.unpaced(self.c.pacer)
  end
end

--- Tell what the rates of all queues and limiters of the process came to.
function M.tell()
  for _, p in pacer.all() do
    local sentence = pacer.sentence(p)
    if sentence then log:info("%s", sentence) end
  end
end

-- Buffers

M.buffer = {}

--- How long the packet waits before it is sent, in bytes on the wire: for sendWithDelay
--- and limiters.
function M.buffer:setDelay(bytes) self.udata64 = bytes < 0 and 0 or bytes end

local SCRIPTS_LINK = 1e10 -- bit/s; MoonGen's

--- The delay with which packets like this one make `mpps` million packets a second, on
--- a link of 10 Gbit/s.
function M.buffer:setRate(mpps)
  self:setDelay(SCRIPTS_LINK / 8 / (mpps * 1e6) - self.pkt_len - 24)
end

return M
