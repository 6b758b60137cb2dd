-- SPDX-License-Identifier: Apache-2.0
-- What devices count. Bytes have 4 more for each packet, its CRC, as libmoon's cards
-- count them.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")

local statistics = {}

local CRC = 4
local raw = ffi.new("struct port_stats")

-- Of what the script's queues count: drivers count late, or not at all.
local function add_queues(d, s)
  local received, rxbytes = 0ULL, 0ULL
  for i = 0, d.sources - 1 do
    received = received + d.ports[i].rxpackets
    rxbytes = rxbytes + d.ports[i].rxbytes
    s.imissed = s.imissed + d.ports[i].rx_oversize
  end
  if d.ports[0].own ~= nil or s.ipackets < received then
    s.ipackets, s.ibytes = received, rxbytes
  end
  if s.ibytes == 0 then s.ibytes = rxbytes end
  s.opackets, s.obytes = 0, 0
  for i = 0, d.ntx - 1 do
    s.opackets, s.obytes = s.opackets + d.tx[i].packets, s.obytes + d.tx[i].bytes
    s.oerrors = s.oerrors + d.tx[i].dropped
  end
end

-- What came to the device, and then found no room in a queue.
local function add_missed_by_queues(d, s)
  for i = 0, d.nrx - 1 do
    local missed = d.rx[i].soft.missed
    s.ipackets = s.ipackets - (missed < s.ipackets and missed or s.ipackets)
    s.imissed = s.imissed + missed
  end
end

local SINCE = {"ipackets", "ibytes", "imissed", "ierrors", "oerrors", "rx_nombuf"}
local of_port = ffi.new("struct port_stats")

--- Fill in what device `d` (struct mg_device), whose port is open, has counted since it
--- was configured, without CRC; `s`: struct port_stats. What nobody received counts as
--- missed, with its bytes.
function statistics.read(d, s)
  ffi.fill(of_port, ffi.sizeof(of_port))
  if d.ports[0].own == nil then C.pg_port_stats(d.ports[0], of_port) end
  for _, name in ipairs(SINCE) do of_port[name] = of_port[name] - d.began[name] end
  add_queues(d, of_port)
  add_missed_by_queues(d, of_port)
  of_port.imissed = of_port.imissed + d.missed
  of_port.ibytes = of_port.ibytes + d.missed_bytes
  ffi.copy(s, of_port, ffi.sizeof(of_port))
end

local function read(dev)
  ffi.fill(raw, ffi.sizeof(raw))
  if dev.c.opened ~= 0 then statistics.read(dev.c, raw) end
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

-- Of each queue (or of what is `part` of it), for as many as DPDK's structure has.
local function of_queues(queues, n, field, part)
  local counts = {}
  for i = 0, 15 do
    local q = i < n and (part and queues[i][part] or queues[i])
    counts[i] = q and q[field] or 0ULL
  end
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
    q_errors = of_queues(d.rx, d.nrx, "missed", "soft"),
  }
end

return statistics
