-- SPDX-License-Identifier: Apache-2.0
-- Sends to device 0 for a long time, in a task that is named on the command line: its
-- loop is compiled or isn't.

local device = require "device"
local lm = require "libmoon"
local memory = require "memory"
local namespaces = require "namespaces"

function master(how)
  lm.setRuntime(1000)
  local dev = device.config{port = 0, txQueues = 2}
  dev:getTxQueue(0):setRate(100)
  lm.startTask("short"):wait()
  lm.startTask(how, dev:getTxQueue(1))
  lm.waitForTasks()
end

function short() end

local function array()
  return memory.createMemPool(function (buf)
    buf:getUdpPacket():fill{pktLength = 60}
  end):bufArray()
end

function clean(queue)
  local bufs = array()
  while lm.running() do
    bufs:alloc(60)
    for i, buf in ipairs(bufs) do buf:getUdpPacket().udp:setSrcPort(i) end
    queue:send(bufs)
  end
end

function closures(queue)
  local bufs, last = array(), nil
  while lm.running() do
    bufs:alloc(60)
    for i, buf in ipairs(bufs) do
      last = function () return buf, i end -- to blame
    end
    queue:send(bufs)
  end
  return last ~= nil
end

function library(queue)
  local bufs, shared = array(), namespaces:get()
  while lm.running() do
    bufs:alloc(60)
    for i in ipairs(bufs) do
      shared.last = i -- calls what is to blame
    end
    queue:send(bufs)
  end
end

function deaf(queue)
  local bufs = array()
  while true do
    bufs:alloc(60)
    queue:send(bufs)
  end
end
