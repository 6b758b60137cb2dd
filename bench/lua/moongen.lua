-- SPDX-License-Identifier: Apache-2.0
-- Loops of libmoon's scripts over null ports, for bench/suite/moongen.py:
--
--   perigee moongen --port 0=null:size=N --port 1=null moongen.lua MODE SECONDS
--
-- Prints packets, CPU seconds of the task, TSC Hz.

local device = require "device"
local ffi = require "ffi"
local lm = require "libmoon"
local memory = require "memory"
local stats = require "stats"

local SIZE, FLOWS, VNI = 60, 2 ^ 16, 1000
local ENCAPSULATION = 14 + 20 + 8 + 8 -- Ethernet, IPv4, UDP, VXLAN

local loops = {}

local function udp_pool()
  return memory.createMemPool(function (buf)
    buf:getUdpPacket():fill{pktLength = SIZE, ip4Dst = "10.1.0.10", udpDst = 1234}
  end)
end

-- Fill all buffers with a length, and send them.
function loops.allocate(_, tx, going)
  local bufs, sent = udp_pool():bufArray(), 0
  while going(sent) do
    bufs:alloc(SIZE)
    sent = sent + tx:send(bufs)
  end
end

function loops.counters(_, tx, going)
  local bufs, sent = udp_pool():bufArray(), 0
  local counter = stats:newDevTxCounter(tx, "plain", "/dev/null")
  while going(sent) do
    bufs:alloc(SIZE)
    sent = sent + tx:send(bufs)
    counter:update()
  end
end

function loops.forward(rx, tx, going)
  local bufs, sent = memory.bufArray(), 0
  while going(sent) do
    local n = rx:recv(bufs)
    tx:sendN(bufs, n)
    sent = sent + n
  end
end

function loops.vxlan(rx, tx, going)
  local mem = memory.createMemPool(function (buf)
    buf:getVxlanPacket():fill{ip4Src = "10.0.0.1", ip4Dst = "10.0.0.2", vxlanVNI = VNI}
  end)
  local rx_bufs, tx_bufs, sent = memory.bufArray(), mem:bufArray(), 0
  while going(sent) do
    local n = rx:tryRecv(rx_bufs, 0)
    tx_bufs:allocN(ENCAPSULATION, n)
    for i = 1, n do
      local inner = rx_bufs[i]
      local size = inner:getSize()
      local outer = tx_bufs[i]
      outer:setSize(ENCAPSULATION + size)
      local pkt = outer:getVxlanPacket()
      ffi.copy(pkt.payload, inner:getData(), size)
      pkt:setLength(ENCAPSULATION + size)
    end
    tx_bufs:offloadUdpChecksums()
    tx:send(tx_bufs)
    rx_bufs:free(n)
    sent = sent + n
  end
end

function loops.udp(_, tx, going)
  local bufs, sent = udp_pool():bufArray(), 0
  local base = parseIPAddress("10.0.0.1")
  while going(sent) do
    bufs:alloc(SIZE)
    for _, buf in ipairs(bufs) do
      local pkt = buf:getUdpPacket()
      pkt.ip4.src:set(base + math.random(0, FLOWS - 1))
    end
    bufs:offloadUdpChecksums()
    sent = sent + tx:send(bufs)
  end
end

local WARM_UP, LOOK_EVERY = 0.2, 256

-- Whether to go on, for a loop that has sent so many: for so many CPU seconds after a
-- start that isn't counted.
local function clock(seconds)
  local C = require("core.native")
  local began, first, calls, result = C.pg_thread_cpu_seconds(), 0, 0, nil
  local from
  return function (sent)
    calls = calls + 1
    if calls % LOOK_EVERY ~= 0 then return lm.running() end
    local now = C.pg_thread_cpu_seconds()
    if not from and now - began >= WARM_UP then from, first = now, sent end
    if not from or now - from < seconds then return true end
    result = {sent - first, now - from}
    return false
  end, function () return result end
end

function task(mode, rx, tx, seconds) -- luacheck: globals task
  local going, result = clock(seconds)
  loops[mode](rx, tx, going)
  local r = result()
  print(("%d %.6f %d"):format(r[1], r[2], lm.getCyclesFrequency()))
end

function master(mode, seconds) -- luacheck: globals master
  local from, to = device.config{port = 0}, device.config{port = 1}
  lm.startTask("task", mode, from:getRxQueue(0), to:getTxQueue(0), seconds):wait()
end
