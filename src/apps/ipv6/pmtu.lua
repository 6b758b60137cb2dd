-- SPDX-License-Identifier: Apache-2.0
-- Path MTUs that routers have reported ("packet too big", RFC 8201), by destination.
-- Bounded: who sends made-up reports fills a table of fixed size, in which a random
-- entry makes room.

local ffi = require("ffi")
local stack_address = require("lib.stack.address")
local ip6 = require("net.ip.ip6")
local failure = require("core.failure")
local slots = require("lib.slots")
local wire = require("net.wire.bytes")

local read16 = wire.read16
local ETHERNET, HEADERS, LEAST_MTU = ip6.ETHERNET, ip6.HEADERS, ip6.LEAST_MTU
local DESTINATIONS = 4096
local ICMP, PACKET_TOO_BIG = ip6.ICMP, 2
local IP_HEADER, ICMP_HEADERS = 40, 8 -- bytes; ICMP's with the MTU
local SOURCE, DESTINATION = 8, 24 -- places in an IPv6 header

local entry_t = ffi.typeof("struct { double since; uint32_t mtu; }[?]")

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
    slots = slots.new(16, DESTINATIONS), entries = entry_t(DESTINATIONS)}, Pmtu)
end

--- The MTU to the destination (a pointer to its 16 bytes), at most `mtu`.
function Pmtu:to(destination, mtu)
  if self.slots.count == 0 then return mtu end
  local slot = self.slots:find(destination)
  if slot < 0 or self.entries[slot].mtu >= mtu then return mtu end
  return self.entries[slot].mtu
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
  if verdict == "valid" then
    local slot = self.slots:find(destination)
    if slot < 0 then slot = self.slots:add(destination) end
    self.entries[slot].mtu, self.entries[slot].since = mtu, now
  end
  return verdict
end

--- Forget what is older than the timeout.
function Pmtu:expire(now)
  local map = self.slots
  for i = map.count - 1, 0, -1 do
    local slot = map:at(i)
    if now - self.entries[slot].since > self.timeout then map:remove(slot) end
  end
end

return {new = new}
