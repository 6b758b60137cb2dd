-- SPDX-License-Identifier: Apache-2.0
-- The packets that MoonGen's scripts of 2014 and 2015 measure with, before it had
-- timestampers: module `timestamping` has these functions.

local arguments = require("moongen.arguments")
local ffi = require("ffi")
local log = require("moongen.log")
local ptp = require("moongen.measure.ptp")

local M = {}

local MAC = "00:25:90:ed:bd:dd"
local UDP_SIZE, ETHERNET_SIZE, HEADERS = 76, 60, 42 -- bytes without CRC
local PTP_VERSION = 2
local SEQUENCE = 0xfffe -- any, where none is asked for
local packet_t = ffi.typeof("struct packet")

local function check(name, buf)
  if ffi.istype(packet_t, buf) then return end
  arguments.refuse(name, 1, buf, "a buffer", 3)
end

--- Make `buf` a PTP packet over UDP and IPv4 from and to UDP port `port`, of `size`
--- bytes without CRC (default 80). Cards stamp those of 76 and more: smaller ones are
--- refused, unless `any_size` is true.
function M.fillPacket(buf, port, size, any_size)
  check("fillPacket", buf)
  size = size or 80
  if type(size) ~= "number" then
    arguments.refuse("fillPacket", 3, size, "a number of bytes")
  elseif size < (any_size and HEADERS + 2 or UDP_SIZE) then
    log:fatal("fillPacket: a packet with a time stamp over UDP has at least %d bytes, "
      .. "not %s", UDP_SIZE, tostring(size))
  end
  buf:setSize(size)
  local pkt = buf:getUdpPacket()
  pkt:fill{pktLength = size, ethSrc = MAC, ethDst = MAC, ip4Src = "1.2.3.4",
    ip4Dst = "10.0.0.1", ip4TTL = 128, udpSrc = port, udpDst = port}
  pkt.payload.uint8[0], pkt.payload.uint8[1] = 0, PTP_VERSION
end

--- Make `buf` a PTP packet over Ethernet with sequence number `seq`.
function M.fillL2Packet(buf, seq)
  check("fillL2Packet", buf)
  buf:setSize(ETHERNET_SIZE)
  buf:getPtpPacket():fill{pktLength = ETHERNET_SIZE}
  ptp.set_sequence(buf:getBytes(), ETHERNET_SIZE, tonumber(seq) or SEQUENCE)
end

--- The sequence number of a PTP packet; nil if it is none.
function M.readSeq(buf)
  check("readSeq", buf)
  return ptp.sequence(buf:getBytes(), buf:getSize())
end

return M
