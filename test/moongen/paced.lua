-- SPDX-License-Identifier: Apache-2.0
-- Sends N packets in each way there is over a queue with a rate of MBIT, or, by two
-- tasks, over two queues of a device with that rate. Prints the way and the seconds
-- from before the first packet to after the last.

local device = require "device"
local dpdkc = require "dpdkc"
local limiter = require "software-ratecontrol"
local lm = require "libmoon"
local memory = require "memory"
require "timestamping"

local SIZE, BURST = 60, 16
local PAUSE_MS = 101 -- what was missed before is no longer made up for

local cbr

-- Each sends some of the buffers from place `done` on, of BURST that were allocated.
local ways = {
  send = function (queue, bufs) return queue:send(bufs) end,
  sendN = function (queue, bufs) return queue:sendN(bufs, BURST) end,
  sendSingle = function (queue, bufs, done)
    return queue:sendSingle(bufs[done + 1])
  end,
  trySend = function (queue, bufs, done) return queue:trySend(bufs, done) end,
  trySendSingle = function (queue, bufs, done)
    return queue:trySendSingle(bufs[done + 1])
  end,
  sendWithDelay = function (queue, bufs)
    for _, buf in ipairs(bufs) do buf:setDelay(0) end
    return queue:sendWithDelay(bufs)
  end,
  sendWithTimestamp = function (queue, bufs, done)
    if done > 0 then return queue:sendSingle(bufs[done + 1]) end
    return queue:sendWithTimestamp(bufs)
  end,
  limiter = function (queue, bufs)
    cbr = cbr or limiter:new(queue, "cbr", 1000)
    return cbr:send(bufs)
  end,
  burst_of_numbers = function (queue, bufs, done)
    return dpdkc.rte_eth_tx_burst_export(queue.id, queue.qid, bufs.array + done,
      BURST - done)
  end,
  all_of_numbers = function (queue, bufs)
    return dpdkc.dpdk_send_all_packets(queue.id, queue.qid, bufs.array, BURST)
  end,
}

function send(queue, way, n)
  local mem = memory.createMemPool()
  local bufs, sent = mem:bufArray(BURST), 0
  while sent < n and lm.running() do
    bufs:alloc(SIZE)
    local done = 0
    while done < BURST and lm.running() do
      done = done + ways[way](queue, bufs, done)
    end
    sent = sent + done
  end
end

function master(mbit, n)
  local dev = device.config{port = 0, txQueues = 3}
  local queue = dev:getTxQueue(0)
  queue:setRate(mbit)
  for way in pairs(ways) do
    lm.sleepMillis(PAUSE_MS)
    local began = lm.getTime()
    send(queue, way, n)
    print("took", way, lm.getTime() - began)
  end
  dev:setRate(mbit)
  for _, way in ipairs{"send", "trySend"} do
    lm.sleepMillis(PAUSE_MS)
    local began = lm.getTime()
    for i = 1, 2 do lm.startTask("send", dev:getTxQueue(i), way, n / 2) end
    lm.waitForTasks()
    print("took", "two with " .. way, lm.getTime() - began)
  end
end
