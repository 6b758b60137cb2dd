-- SPDX-License-Identifier: Apache-2.0
-- Queues of devices: what scripts send to and receive from. One call of C a burst.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local arguments = require("moongen.arguments")
require("moongen.memory.buffers") -- struct mg_buffers
local checked = require("moongen.checked")
local open_files = require("moongen.tasks.open_files")
local serialize = require("moongen.tasks.serialize")

local queues = {}

local TxQueue = {__type = "txQueue"}
TxQueue.__index = TxQueue
local RxQueue = {__type = "rxQueue"}
RxQueue.__index = RxQueue
queues.TxQueue, queues.RxQueue = TxQueue, RxQueue

local device -- the module that is made of this one

--- To be told of the module above.
function queues.set_up(module) device = module end

local function same(a, b) return a.id == b.id and a.qid == b.qid end
TxQueue.__eq, RxQueue.__eq = same, same

function TxQueue:__tostring()
  return ("[TxQueue: id=%d, qid=%d]"):format(self.id, self.qid)
end

function RxQueue:__tostring()
  return ("[RxQueue: id=%d, qid=%d]"):format(self.id, self.qid)
end

serialize.class("moongen.devices.device", "txQueue", TxQueue,
  function (self) return self.id, self.qid end,
  function (id, qid) return device.get(id):getTxQueue(qid) end)
serialize.class("moongen.devices.device", "rxQueue", RxQueue,
  function (self) return self.id, self.qid end,
  function (id, qid) return device.get(id):getRxQueue(qid) end)

--- The objects for queue number `qid` of a device.
function queues.tx(dev, qid)
  return setmetatable({id = dev.id, qid = qid, dev = dev, queue = dev.c.tx + qid},
    TxQueue)
end

function queues.rx(dev, qid)
  return setmetatable({id = dev.id, qid = qid, dev = dev, queue = dev.c.rx + qid},
    RxQueue)
end

-- Sending -----------------------------------------------------------------------------

local FAULTS = {
  [C.MG_SENT_TWICE] = "a buffer that was sent or freed already; alloc() or receive new "
    .. "ones for each send()",
  [C.MG_NO_BUFFER] = "an array with slots that have no buffer; alloc() or receive "
    .. "them first, or use sendN() with as many as there are",
}

local function fail(self, fault)
  error(("%s: sending %s"):format(tostring(self), FAULTS[fault] or "failed"), 3)
end

--- Raise what is wrong with a burst (enum mg_fault).
TxQueue.fail = fail

local istype, type = ffi.istype, type
local array_t, packet_t = ffi.typeof("struct mg_buffers"), ffi.typeof("struct packet")

-- The sentence for what isn't a queue of the kind, an array of buffers or a buffer.
-- Compiled code knows the types: the tests in front of this cost it nothing.
local function refuse(name, self, bufs, wanted)
  if type(self) ~= "table" or not self.queue then
    arguments.without(name, self, "a queue", 4)
  end
  arguments.refuse(name, 1, bufs, wanted or "an array of buffers (mem:bufArray())", 4)
end

local function check_count(bufs, n)
  if type(n) ~= "number" then arguments.refuse("sendN", 2, n, "a number", 4) end
  if not (n >= 0 and n <= bufs.maxSize) then
    error(("sendN: %s buffers of an array of %d"):format(n, bufs.maxSize), 3)
  end
end

--- Send all buffers of the array; how many. Waits until the device has taken them.
function TxQueue:send(bufs)
  if not istype(array_t, bufs) or type(self) ~= "table" or not self.queue then
    refuse("send", self, bufs)
  end
  local sent = C.mg_send(self.queue, bufs.array, bufs.size)
  if sent < 0 then fail(self, sent) end
  return bufs.size
end

--- Send the first `n`.
function TxQueue:sendN(bufs, n)
  if not istype(array_t, bufs) or type(self) ~= "table" or not self.queue then
    refuse("sendN", self, bufs)
  end
  if type(n) ~= "number" or n > bufs.maxSize or n < 0 then check_count(bufs, n) end
  local sent = C.mg_send(self.queue, bufs.array, n)
  if sent < 0 then fail(self, sent) end
  return n
end

--- Send the first `n` at the times of a pacer (net/rate), and at the queue's rate.
function TxQueue:sendThrough(p, bufs, n)
  if n > bufs.maxSize then check_count(bufs, n) end
  local sent = C.mg_send_through(self.queue, p, bufs.array, n)
  if sent < 0 then fail(self, sent) end
  return n
end

local one = ffi.new("struct packet *[1]")

--- Send one buffer.
function TxQueue:sendSingle(buf)
  if not istype(packet_t, buf) or type(self) ~= "table" or not self.queue then
    refuse("sendSingle", self, buf, "a buffer")
  end
  one[0] = buf
  local sent = C.mg_send(self.queue, one, 1)
  if sent < 0 then fail(self, sent) end
  return 1
end

--- Send one buffer if the device has room: 1 or 0.
function TxQueue:trySendSingle(buf)
  if not istype(packet_t, buf) or type(self) ~= "table" or not self.queue then
    refuse("trySendSingle", self, buf, "a buffer")
  end
  one[0] = buf
  local sent = C.mg_try_send(self.queue, one, 1)
  if sent < 0 then fail(self, sent) end
  return sent
end

--- Send as many as the device has room for, of `n` (default: all) from place `start`
--- (from 0, the default) on; how many.
function TxQueue:trySend(bufs, start, n)
  if not istype(array_t, bufs) or type(self) ~= "table" or not self.queue then
    refuse("trySend", self, bufs)
  end
  if start ~= nil and type(start) ~= "number" then
    arguments.refuse("trySend", 2, start, "an index from 0 on")
  elseif n ~= nil and type(n) ~= "number" then
    arguments.refuse("trySend", 3, n, "a number of buffers")
  end
  start = start or 0
  n = n or bufs.size - start
  if not (start >= 0 and n >= 0 and start + n <= bufs.maxSize) then
    error(("trySend: %s buffers from index %s on of an array of %d"):format(n, start,
      bufs.maxSize), 2)
  end
  local sent = C.mg_try_send(self.queue, bufs.array + start, n)
  if sent < 0 then fail(self, sent) end
  return sent
end

function TxQueue:start() return self end
function TxQueue:stop() return self end

--- The device's Ethernet address.
function TxQueue:getMacAddr(number) return self.dev:getMac(number) end
RxQueue.getMacAddr = TxQueue.getMacAddr

-- Receiving ---------------------------------------------------------------------------

local FOREVER = -1
local SHORT = 1000 -- microseconds

local function room(self, bufs, n)
  if not istype(array_t, bufs) or type(self) ~= "table" or not self.queue then
    refuse("recv", self, bufs)
  end
  if n ~= nil and (type(n) ~= "number" or n ~= n or n < 0) then
    arguments.refuse("recv", 2, n, "a number of buffers", 4)
  end
  return n and n < bufs.size and n or bufs.size
end

-- Wait for up to `n` packets. What was captured is in its files before a long wait.
local function receive(self, bufs, n, wait, idle)
  if open_files.pending and wait == FOREVER then
    local got = C.mg_receive_wait(self.queue, bufs.array, n, SHORT, idle)
    if got > 0 then return got end
    open_files.flush()
  end
  local got = C.mg_receive_wait(self.queue, bufs.array, n, wait, idle)
  if got == 0 and open_files.pending then open_files.flush() end
  return got
end

--- Receive up to `n` packets (default: as many as the array has places); waits until
--- there is at least one, or until the script is to end: then 0.
function RxQueue:recv(bufs, n)
  return receive(self, bufs, room(self, bufs, n), FOREVER, 0)
end

local function microseconds(self, bufs, wait)
  if not istype(array_t, bufs) or type(self) ~= "table" or not self.queue then
    refuse("tryRecv", self, bufs)
  end
  if wait and type(wait) ~= "number" then
    arguments.refuse("tryRecv", 2, wait, "a number of microseconds", 4)
  end
  if not wait or wait == math.huge then return FOREVER end
  return wait > 0 and wait or 0
end

--- The same, for up to so many microseconds (default: as recv).
function RxQueue:tryRecv(bufs, wait)
  local most = microseconds(self, bufs, wait)
  return receive(self, bufs, bufs.size, most, 0)
end

--- The same, sleeping in between.
function RxQueue:tryRecvIdle(bufs, wait)
  local most = microseconds(self, bufs, wait)
  return receive(self, bufs, bufs.size, most, 1)
end

arguments.methods(TxQueue, "a queue", "dev", {getMacAddr = "any?", start = "",
  stop = ""})
RxQueue.getMacAddr = TxQueue.getMacAddr

checked.guard(TxQueue, "send sendN sendThrough sendSingle trySendSingle trySend")
checked.guard(RxQueue, "recv tryRecv tryRecvIdle")

return queues
