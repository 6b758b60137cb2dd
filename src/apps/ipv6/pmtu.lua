-- SPDX-License-Identifier: Apache-2.0
-- Path MTUs that routers have reported ("packet too big", RFC 8201), by destination.
-- Bounded: who sends made-up reports fills a table of fixed size, in which the oldest
-- entry makes room.

local ffi = require("ffi")
local stack_address = require("lib.stack.address")
local ip6 = require("net.ip.ip6")
local failure = require("core.failure")
local flow = require("net.flow.flow")
local wire = require("net.wire.bytes")

local read16 = wire.read16
local ETHERNET, HEADERS, LEAST_MTU = ip6.ETHERNET, ip6.HEADERS, ip6.LEAST_MTU
local DESTINATIONS = 4096
local ICMP, PACKET_TOO_BIG = ip6.ICMP, 2
local IP_HEADER, ICMP_HEADERS = 40, 8 -- bytes; ICMP's with the MTU
local SOURCE, DESTINATION = 8, 24 -- places in an IPv6 header

local SECOND = 1e6 -- in the table's units

local Pmtu = {}
Pmtu.__index = Pmtu

--- `timeout` in seconds; `addresses` (texts) are those that reports must be sent to,
--- and be about packets of; none: any.
local function new(timeout, addresses)
  local own, count = {}, 0
  for _, text in ipairs(addresses) do
    local address = stack_address.parseIP6Address(text)
    if not address then
      failure.usage("pmtu_local_addresses: '%s' isn't an IPv6 address", tostring(text))
    end
    own[ffi.string(address, 16)] = true
    count = count + 1
  end
  return setmetatable({timeout = timeout, own = count > 0 and own or false,
    table = flow.new{key = "uint8_t[16]", value = "uint32_t", limit = DESTINATIONS,
      full = "evict", ages = {0}}}, Pmtu)
end

--- The MTU to the destination (a pointer to its 16 bytes), at most `mtu`.
function Pmtu:to(destination, mtu)
  local table = self.table
  local number = table:count() > 0 and table:find(destination) or 0
  return number > 0 and math.min(table.record[number].value, mtu) or mtu
end

--- The MTU to the destination is that, as of `now` (seconds).
function Pmtu:learn(destination, mtu, now)
  local number = self.table:add(destination, now * SECOND)
  if number > 0 then self.table.record[number].value = mtu end
end

local function is_own(self, address)
  return not self.own or self.own[ffi.string(address, 16)] ~= nil
end

-- The checksum and the report itself, of `size` bytes in the frame at `data`.
local function judge(self, data, size)
  local icmp = data + HEADERS
  if ip6.checksum(data, ICMP, size) ~= 0 then return "invalid-csum" end
  local about = icmp + ICMP_HEADERS
  if size < ICMP_HEADERS + IP_HEADER or not is_own(self, about + SOURCE) then
    return "invalid"
  end
  local mtu = read16(icmp + 4) * 65536 + read16(icmp + 6)
  if mtu < LEAST_MTU then return "invalid" end -- RFC 8201, section 4
  return "valid", mtu, about + DESTINATION
end

--- What a frame says: nil if it is no report for us, and the caller's; else "valid",
--- "invalid" or "invalid-csum". A valid report is learnt.
function Pmtu:read(p, now)
  local data = p.data
  local size = ip6.is_ipv6(data, p.length) and ip6.payload(data, p.length) or -1
  if size < ICMP_HEADERS or data[20] ~= ICMP or data[HEADERS] ~= PACKET_TOO_BIG then
    return nil
  end
  if not is_own(self, data + ETHERNET + DESTINATION) then return nil end
  local verdict, mtu, destination = judge(self, data, size)
  if verdict == "valid" then self:learn(destination, mtu, now) end
  return verdict
end

--- Forget what is older than the timeout.
function Pmtu:expire(now)
  self.table:expire((now - self.timeout) * SECOND, DESTINATIONS)
end

return {new = new}
