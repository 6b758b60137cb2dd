-- SPDX-License-Identifier: Apache-2.0
-- ICMPEcho: answers pings (RFC 4443, section 4) to its addresses, between a port in the
-- south and whatever else is in the north.

local ffi = require("ffi")
local ip6 = require("net.ip.ip6")
local counter = require("core.counter")
local exchange = require("lib.exchange")
local link = require("core.link")
local wire = require("net.wire.bytes")

local nreadable, receive, transmit = link.nreadable, link.receive, link.transmit
local write16 = wire.write16

local HEADERS, ICMP, ICMP_HEADER = ip6.HEADERS, ip6.ICMP, 4
local REQUEST, REPLY, HOP_LIMIT = 128, 129, 64

local ICMPEcho = {
  needs_packets = true,
  shm = {
    ["in-icmpv6-echo-bytes"] = {counter}, ["in-icmpv6-echo-packets"] = {counter},
    ["out-icmpv6-echo-bytes"] = {counter}, ["out-icmpv6-echo-packets"] = {counter},
  },
}
ICMPEcho.__index = ICMPEcho
ICMPEcho.reconfig_keeps = {}

--- ICMPEcho{address=, addresses=}: an IPv6 address (16 bytes), a list of them.
function ICMPEcho:new(arg)
  local addresses = {}
  if arg.address then addresses[ffi.string(arg.address, 16)] = true end
  for _, address in ipairs(arg.addresses or {}) do
    addresses[ffi.string(address, 16)] = true
  end
  return setmetatable({addresses = addresses}, ICMPEcho)
end

-- The bytes behind the IPv6 header of a ping to us; 0 if it is something else.
local function ping(self, p)
  local data, length = p.data, p.length
  if not ip6.is_ipv6(data, length) then return 0 end
  local size = ip6.payload(data, length)
  if size < ICMP_HEADER or data[20] ~= ICMP or data[HEADERS] ~= REQUEST
    or data[HEADERS + 1] ~= 0 then return 0 end
  return self.addresses[ffi.string(data + 38, 16)] and size or 0
end

-- Make the ping its own answer.
local function answer(p, size)
  local data = p.data
  exchange(data, data + 6, 6)
  exchange(data + 22, data + 38, 16)
  data[21] = HOP_LIMIT
  local icmp = data + HEADERS
  icmp[0], icmp[2], icmp[3] = REPLY, 0, 0
  write16(icmp + 2, ip6.checksum(data, ICMP, size))
end

local function from_south(self, input, north, south, n)
  local shm = self.shm
  for _ = 1, n do
    local p = receive(input)
    local size = ping(self, p)
    if size == 0 then
      transmit(north, p)
    else
      answer(p, size)
      counter.add(shm["in-icmpv6-echo-bytes"], p.length)
      counter.add(shm["in-icmpv6-echo-packets"])
      counter.add(shm["out-icmpv6-echo-bytes"], p.length)
      counter.add(shm["out-icmpv6-echo-packets"])
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
