-- SPDX-License-Identifier: Apache-2.0
-- This process stops itself while packets wait in its port: one that a timestamper
-- waits for, and, after the end, all that a receiver would count.

local device = require "device"
local ffi = require "ffi"
local memory = require "memory"
local mg = require "moongen"
local timestamping = require "timestamping"

ffi.cdef "int getpid(void); int kill(int, int);"
local SIGSTOP, SENT = 19, 50

local function stop_here()
  print("stopping")
  io.flush()
  ffi.C.kill(ffi.C.getpid(), SIGSTOP)
end

function master()
  local tx = device.config{port = 0}:getTxQueue(0)
  local rx = device.config{port = 1}:getRxQueue(0)
  local stamper = timestamping:newTimestamper(tx, rx)
  function rx.tryRecv()
    rx.tryRecv = nil
    stop_here()
    return 0
  end
  print("measured", stamper:measureLatency() ~= nil)

  local mem = memory.createMemPool()
  local bufs, got = mem:bufArray(SENT), 0
  bufs:alloc(60)
  tx:send(bufs)
  mg.stop()
  stop_here()
  while mg.running(100) do
    local n = rx:tryRecv(bufs, 1000)
    bufs:free(n)
    got = got + n
  end
  print("received", got, "of", SENT)
end
