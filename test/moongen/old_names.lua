-- SPDX-License-Identifier: Apache-2.0
-- Names that scripts of 2014 to 2016 use: sends packets of a savefile from device 0,
-- receives them on device 1, and writes what came. Takes the two savefiles.

local device, dpdk = require "device", require "dpdk"
local lacp, limiter = require "proto.lacp", require "ratelimiter"
local memory, stats = require "memory", require "stats"
local ts = require "timestamping"
require "pcap"

function master(from, to)
  local tx = device.config(0):getTxQueue(0)
  local rx = device.config(1):getRxQueue(0)
  local sent = stats:newTxCounter(tx, "plain")
  local came = stats:newRxCounter(device.get(1), "plain")
  local byHand = stats:newTxCounter("by hand", 60, "plain")
  sent:update()
  came:update()
  byHand:updateWithSize(3, 60)
  tx:setWireRate(1000, 64)
  print("limiter", type(limiter.new))
  print("clocks", ts.getClockDiff(tx.dev, rx.dev))

  local bufs = memory.createMemPool():bufArray(4)
  local reader = pcapReader:newPcapReader(from, 1000)
  bufs:fill(1514)
  local n = reader:readPkt(bufs, true)
  print("read", n, reader.done, bufs[1]:getSize(),
    bufs[1]:getUDPPacket().udp:getDstPort())
  reader:close()
  tx:sendN(bufs, n)

  local received, writer = memory.bufArray(4), pcapWriter:newPcapWriter(to)
  local got = 0
  while got < n and dpdk.running() do
    local now = rx:tryRecv(received, 1000)
    writer:write(received, now)
    received:free(now)
    got = got + now
  end
  writer:close()
  sent:finalize()
  came:finalize()
  byHand:finalize()
  dpdk.launchLua(lacp.lacpTask, {name = "bond0", ports = {{rx = rx, tx = tx}}})
  print("mac", lacp.getMac("bond0") == tx.dev:getMacString())
  dpdk.stop()
end
