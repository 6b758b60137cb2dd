-- SPDX-License-Identifier: Apache-2.0
-- Packets of softwires for `perigee lwaftr generate`: UDP from the internet to a
-- softwire's first port, or from there through its tunnel.

local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local checksum = require("net.checksum.checksum")
local wire = require("net.wire.bytes")
local writer = require("lib.pcap.writer")

local M = {}

local ETHERNET, IP4, IP6, UDP = 14, 20, 40, 8 -- bytes
local PEER, PEER_PORT, LIFE = 0x01020304, 12345, 15
local MOST = 10240 -- bytes of a packet
local write16, write32 = wire.write16, wire.write32

local function put_macs(p, destination, source, type)
  ffi.fill(p, 6, destination)
  ffi.fill(p + 6, 6, source)
  write16(p + 12, type)
end

-- IPv4 and UDP with `size` bytes of zeros as digits; how long it is.
local function put_udp(p, size, from, from_port, to, to_port)
  local length = UDP + size
  ffi.fill(p, IP4 + UDP)
  p[0], p[8], p[9] = 0x45, LIFE, 17
  write16(p + 2, IP4 + length)
  write32(p + 12, from)
  write32(p + 16, to)
  write16(p + 10, checksum.of(p, IP4))
  local udp = p + IP4
  write16(udp, from_port)
  write16(udp + 2, to_port)
  write16(udp + 4, length)
  ffi.fill(udp + UDP, size, 0x30)
  local sum = checksum.of(udp, length, checksum.pseudo4(p, 17, length))
  write16(udp + 6, checksum.udp(sum))
  return IP4 + length
end

--- The first port of a struct softwire.
function M.port(softwire)
  return bit.lshift(bit.band(softwire.psid, bit.lshift(1, softwire.psid_length) - 1),
    16 - softwire.psid_length - softwire.reserved)
end

--- Write to `p` a packet of `size` bytes (or the least there can be) from the internet
--- to the softwire; returns its length.
function M.from_internet(p, size, softwire)
  put_macs(p, 0x12, 0x68, ether_type.IP4)
  return ETHERNET + put_udp(p + ETHERNET, math.max(4, size - ETHERNET - IP4 - UDP),
    PEER, PEER_PORT, softwire.ipv4, M.port(softwire))
end

--- The same from the softwire's B4.
function M.from_b4(p, size, softwire)
  put_macs(p, 0x22, 0x44, ether_type.IP6)
  local ip6 = p + ETHERNET
  local length = put_udp(ip6 + IP6, math.max(4, size - ETHERNET - IP6 - IP4 - UDP),
    softwire.ipv4, M.port(softwire), PEER, PEER_PORT)
  write32(ip6, 0x60100000) -- traffic class 1
  write16(ip6 + 4, length)
  ip6[6], ip6[7] = 4, 255
  ffi.copy(ip6 + 8, softwire.ends.b4, 16)
  ffi.copy(ip6 + 24, softwire.ends.br, 16)
  return ETHERNET + IP6 + length
end

--- Write a savefile of `n` packets that `make` makes, each of another softwire (nth(i)
--- gives that of index i from 0 to count - 1), picked at random.
function M.write(path, make, size, n, nth, count)
  local file = writer.open(path)
  local p, moved = ffi.new("uint8_t[?]", MOST), {}
  for i = 0, math.min(n, count) - 1 do
    -- Fisher and Yates's shuffle, of which only what was moved is kept.
    local k = math.random(i, count - 1)
    local softwire = nth(moved[k] or k)
    moved[k] = moved[i] or i
    local length = make(p, size, softwire)
    file:write(p, length, length, 0)
  end
  file:close()
end

return M
