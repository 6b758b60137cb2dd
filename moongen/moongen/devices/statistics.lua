-- SPDX-License-Identifier: Apache-2.0
-- What devices count. Bytes have 4 more for each packet, its CRC, as libmoon's cards
-- count them.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")

local statistics = {}

local CRC = 4
local raw = ffi.new("struct port_stats")

local function read(dev)
  C.mg_device_stats(dev.c, raw)
  return raw
end

--- Packets and bytes received, those among them that nobody took.
function statistics.received(dev)
  local s = read(dev)
  local packets = tonumber(s.ipackets + s.imissed + s.rx_nombuf)
  return packets, tonumber(s.ibytes) + CRC * packets
end

--- Packets and bytes sent.
function statistics.sent(dev)
  local s = read(dev)
  local packets = tonumber(s.opackets)
  return packets, tonumber(s.obytes) + CRC * packets
end

-- Of each queue, for as many as DPDK's structure has.
local function of_queues(queues, n, field)
  local counts = {}
  for i = 0, 15 do counts[i] = i < n and queues[i][field] or 0ULL end
  return counts
end

--- All of them by DPDK's names (rte_eth_stats), numbers of 64 bits.
function statistics.all(dev)
  local s, d = read(dev), dev.c
  return {
    ipackets = s.ipackets, opackets = s.opackets, ibytes = s.ibytes, obytes = s.obytes,
    imissed = s.imissed, ierrors = s.ierrors, oerrors = s.oerrors,
    rx_nombuf = s.rx_nombuf,
    q_ipackets = of_queues(d.rx, d.nrx, "packets"),
    q_opackets = of_queues(d.tx, d.ntx, "packets"),
    q_ibytes = of_queues(d.rx, d.nrx, "bytes"),
    q_obytes = of_queues(d.tx, d.ntx, "bytes"),
    q_errors = of_queues(d.rx, d.nrx, "missed"),
  }
end

return statistics
