-- SPDX-License-Identifier: Apache-2.0
-- ICMPEcho: answers pings (RFC 792) to its addresses, between a port in the south and
-- whatever else is in the north.

local ffi = require("ffi")
local C = require("core.declare")("net/checksum/checksum.h")
local ip4 = require("net.ip.ip4")
local counter = require("core.counter")
local exchange = require("lib.exchange")
local link = require("core.link")
local wire = require("net.wire.bytes")

local band = bit.band
local nreadable, receive, transmit = link.nreadable, link.receive, link.transmit
local read16, write16 = wire.read16, wire.write16

local ETHERNET = ip4.ETHERNET
local ICMP, REQUEST, REPLY, ICMP_HEADER = 1, 8, 0, 4
local FRAGMENT = 0x3fff -- offset, and "more fragments"
local TTL = 64

local ICMPEcho = {
  needs_packets = true,
  shm = {
    ["in-icmpv4-echo-bytes"] = {counter}, ["in-icmpv4-echo-packets"] = {counter},
    ["out-icmpv4-echo-bytes"] = {counter}, ["out-icmpv4-echo-packets"] = {counter},
  },
}
ICMPEcho.__index = ICMPEcho
ICMPEcho.reconfig_keeps = {}

local function number(address)
  local a = ffi.cast("const uint8_t *", address)
  return ((a[0] * 256 + a[1]) * 256 + a[2]) * 256 + a[3]
end

--- ICMPEcho{address=, addresses=}: an IPv4 address (4 bytes), a list of them.
function ICMPEcho:new(arg)
  local addresses = {}
  if arg.address then addresses[number(arg.address)] = true end
  for _, address in ipairs(arg.addresses or {}) do addresses[number(address)] = true end
  return setmetatable({addresses = addresses}, ICMPEcho)
end

-- Bytes of the headers of a ping to us, Ethernet's and IP's, and IP's length; 0 if it
-- is something else.
local function ping(self, p)
  local data, length = p.data, p.length
  if length < ETHERNET or data[12] ~= 8 or data[13] ~= 0 then return 0, 0 end
  local headers, total = ip4.lengths(data, length)
  if headers == 0 or total + ETHERNET < headers + ICMP_HEADER
    or data[23] ~= ICMP or data[headers] ~= REQUEST or data[headers + 1] ~= 0
    or band(read16(data + 20), FRAGMENT) ~= 0
    or not self.addresses[number(data + 30)] then return 0, 0 end
  return headers, total
end

-- Make the ping its own answer.
local function answer(p, headers, total)
  local data = p.data
  exchange(data, data + 6, 6)
  exchange(data + 26, data + 30, 4)
  data[22] = TTL
  ip4.set_checksum(data + ETHERNET, headers - ETHERNET)
  local icmp = data + headers
  icmp[0], icmp[2], icmp[3] = REPLY, 0, 0
  write16(icmp + 2, C.pg_checksum(icmp, total + ETHERNET - headers, 0))
end

local function from_south(self, input, north, south, n)
  local shm = self.shm
  for _ = 1, n do
    local p = receive(input)
    local headers, total = ping(self, p)
    if headers == 0 then
      transmit(north, p)
    else
      answer(p, headers, total)
      counter.add(shm["in-icmpv4-echo-bytes"], p.length)
      counter.add(shm["in-icmpv4-echo-packets"])
      counter.add(shm["out-icmpv4-echo-bytes"], p.length)
      counter.add(shm["out-icmpv4-echo-packets"])
      transmit(south, p)
    end
  end
end

local function pass(input, output, n)
  for _ = 1, n do transmit(output, receive(input)) end
end

function ICMPEcho:push()
  local input, output = self.input, self.output
  if input.south then
    from_south(self, input.south, output.north, output.south, nreadable(input.south))
  end
  if input.north then pass(input.north, output.south, nreadable(input.north)) end
end

return {ICMPEcho = ICMPEcho}
