-- SPDX-License-Identifier: Apache-2.0
-- What scripts do wrong, by name.

local device = require "device"
local lm = require "libmoon"
local memory = require "memory"

local wrongs = {}

function wrongs.twice()
  local queue = device.config{port = 0}:getTxQueue(0)
  local bufs = memory.createMemPool{n = 100}:bufArray(8)
  bufs:alloc(60)
  queue:send(bufs)
  queue:send(bufs)
end

function wrongs.free_twice()
  local bufs = memory.createMemPool(100):bufArray(8)
  bufs:alloc(60)
  bufs:free(8)
  bufs[3]:free()
end

function wrongs.empty_array()
  device.config{port = 0}:getTxQueue(0):send(memory.bufArray())
end

function wrongs.dry()
  local mem = memory.createMemPool{n = 100}
  mem:bufArray(60):alloc(60)
  mem:bufArray(60):alloc(60)
end

function wrongs.too_long()
  memory.createMemPool{bufSize = 100}:bufArray(1):alloc(101)
end

function wrongs.no_device() device.config{port = 7} end
function wrongs.no_queue() device.config{port = 0}:getTxQueue(1) end
function wrongs.not_configured() device.get(0):getRxQueue(0) end
function wrongs.queues() device.config{port = 0, rxQueues = 1, rssQueues = 4} end
function wrongs.no_task() lm.startTask("nobody"):wait() end
function wrongs.limiter()
  require("software-ratecontrol"):new(device.config{port = 0}:getTxQueue(0), "even", 1)
end

function wrongs.no_folder()
  local queue = device.config{port = 0}:getTxQueue(0)
  lm.startTask("count_to", queue, "nowhere/counts"):wait()
end

function count_to(queue, file)
  require("stats"):newDevTxCounter(queue, "csv", file)
end

function wrongs.task() lm.startTask("task"):wait() end
function wrongs.exit() lm.startTask("leave") lm.waitForTasks() print("not reached") end
function wrongs.leak()
  local bufs = memory.createMemPool():bufArray(10)
  for _ = 1, 50 do bufs:alloc(60) end
end

function wrongs.endless()
  lm.startTask("run_on")
  lm.sleepMillis(200)
end

function task() error("in the task") end

function run_on()
  while true do lm.sleepMillis(1) end
end

function leave()
  local file = io.open("left.txt", "w")
  file:write("complete")
  os.exit(3)
end

function wrongs.fill_too_long()
  memory.createMemPool(function (buf) buf:getUdpPacket():fill{pktLength = 9562} end)
end

function master(name) wrongs[name]() end
