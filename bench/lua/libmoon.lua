-- SPDX-License-Identifier: Apache-2.0
-- libmoon bench/lua/libmoon.lua MODE BURST: receives from port 0 and sends to it, in
-- arrays of BURST, until it is ended. MODE: forward, or swap (the Ethernet addresses).
-- Says each 4,096 arrays how many packets it has sent. Runs as `perigee moongen`, too.

local device = require "device"
local lm = require "libmoon"
local memory = require "memory"

local SAY_EVERY = 4096

local function swap(bufs, n)
  for i = 1, n do
    local eth = bufs[i]:getEthernetPacket().eth
    local dst, src = eth:getDst(), eth:getSrc()
    eth:setDst(src)
    eth:setSrc(dst)
  end
end

function task(mode, burst, rx, tx) -- luacheck: globals task
  local bufs, sent, change = memory.bufArray(burst), 0, mode == "swap" and swap
  while lm.running() do
    for _ = 1, SAY_EVERY do
      local n = rx:recv(bufs)
      if change then change(bufs, n) end
      tx:sendN(bufs, n)
      sent = sent + n
    end
    print("sent " .. sent)
    io.flush()
  end
end

function master(mode, burst) -- luacheck: globals master
  local port = device.config{port = 0}
  lm.startTask("task", mode, tonumber(burst), port:getRxQueue(0), port:getTxQueue(0))
  lm.waitForTasks()
end
