-- SPDX-License-Identifier: Apache-2.0
-- A packet as it is made from a line of a summary dump. Headers are made when the first
-- of their fields is set; bytes that no field sets are zero.
--
--   p            the packet; nil if it can't be made (too long)
--   ip6          are packets IPv6's, and the flow?
--   is_ip, is_ip6  which network header it has; an Ethernet type may say neither
--   wanted       length that the packet should have; 0: not said
--   has_ip_header, has_tcp_header, has_icmp_type, has_icmp_code
--                their length (or value) was set by a field

local bit = require("bit")
local C = require("core.declare")("net/checksum/checksum.h")
local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")

local note = require("click.note")
local packet = require("core.packet")
local read16 = require("net.wire.bytes").read16

local Builder = {}
Builder.__index = Builder

local IP_HEADER, IP6_HEADER, ETHERNET = 20, 40, 14
local HOP_LIMIT = 51
local TCP, UDP, ICMP, DCCP, UDPLITE = 6, 17, 1, 33, 136
local TTL = 100
local HEADERS = {[TCP] = 20, [UDP] = 8, [UDPLITE] = 8, [DCCP] = 12, [ICMP] = 8}

--- A builder. `protocol` is that of packets which don't say theirs; `flow` is what is
--- used for those without addresses or ports, or nil: {source =, destination =, sport
--- =, dport =}. `version` is the dump's, behind the dot. `ip6`: of IPv6's packets;
--- addresses of the flow are 16 bytes, then.
function Builder.new(protocol, flow, version, ip6)
  local p = packet.allocate()
  note.clear(p)
  p.length = 0
  ip6 = ip6 or false
  return setmetatable({p = p, is_ip = not ip6, is_ip6 = ip6, ip6 = ip6,
    protocol = protocol, flow = flow, version = version, wanted = 0}, Builder)
end

--- `n` more bytes at the end. False (and no packet any more) if it gets too long.
function Builder:put(n)
  local p = self.p
  if p.length + n > packet.max_payload then
    packet.free(p)
    self.p = nil
    return false
  end
  ffi.fill(p.data + p.length, n)
  p.length = p.length + n
  return true
end

-- Places in the packet, from its first byte on --------------------------------------

local function place(index)
  return function (self) return self.p.note16[index] - self.p.data_off end
end

--- Where the IP header, and the one behind it, begin.
Builder.net = place(note.NETWORK_HEADER)
Builder.transport = place(note.TRANSPORT_HEADER)

function Builder:has_net() return self.p.note16[note.NETWORK_HEADER] > 0 end
function Builder:network_length() return self.p.length - self:net() end
function Builder:transport_length() return self.p.length - self:transport() end

--- The IP header begins at `at` and is `length` bytes long.
function Builder:set_net(at, length)
  local p = self.p
  p.note16[note.NETWORK_HEADER] = p.data_off + at
  p.note16[note.TRANSPORT_HEADER] = p.data_off + at + length
end

function Builder:byte(at) return self.p.data[at] end
function Builder:half(at) return read16(self.p.data + at) end

--- Set bytes from `at` on: one, two or four, highest first; or a text.
function Builder:set(at, bytes, value)
  local data = self.p.data
  value = value % 2 ^ 32
  for i = bytes - 1, 0, -1 do
    data[at + i] = value % 256
    value = math.floor(value / 256)
  end
end

function Builder:set_bytes(at, text) ffi.copy(self.p.data + at, text, #text) end

--- Open `n` bytes at `at`, and fill them with zeros.
function Builder:insert(at, n)
  local p = self.p
  local behind = ffi.string(p.data + at, p.length - at)
  if not self:put(n) then return false end
  ffi.fill(p.data + at, n)
  self:set_bytes(at + n, behind)
  return true
end

-- Headers ---------------------------------------------------------------------------

--- See to it that there is an Ethernet header. It is made before others.
function Builder:make_ether()
  local p = self.p
  if p.note16[note.MAC_HEADER] > 0 then return true end
  if p.length > 0 then return false end
  if not self:put(ETHERNET) then return false end
  p.note16[note.MAC_HEADER] = p.data_off
  self:set_net(ETHERNET, 0)
  self:set(12, 2, self.is_ip6 and ether_type.IP6 or ether_type.IP4)
  return true
end

local function begin_ip(self)
  if not self:put(IP_HEADER - self:network_length()) then return false end
  local at = self:net()
  self:set_net(at, IP_HEADER)
  self:set(at, 1, 0x45)
  self:set(at + 8, 1, TTL)
  self:set(at + 9, 1, self.protocol)
  if self.flow and not self.ip6 then
    self:set(at + 12, 4, self.flow.source)
    self:set(at + 16, 4, self.flow.destination)
  end
  return true
end

--- See to it that there is an IP header. True if there is, and it is `protocol`'s (nil:
--- any).
function Builder:make_ip(protocol)
  if not self.p or not self.is_ip then return false end
  if not self:has_net() then self:set_net(0, 0) end
  if self:network_length() < IP_HEADER and not begin_ip(self) then return false end
  local own = self:byte(self:net() + 9)
  return not protocol or own == 0 or own == protocol
end

local function begin_ip6(self)
  if not self:put(IP6_HEADER - self:network_length()) then return false end
  local at = self:net()
  self:set_net(at, IP6_HEADER)
  self:set(at, 1, 0x60)
  self:set(at + 6, 1, self.protocol)
  self:set(at + 7, 1, HOP_LIMIT)
  if self.flow then
    self:set_bytes(at + 8, self.flow.source)
    self:set_bytes(at + 24, self.flow.destination)
  end
  return true
end

--- The protocol that the network header says follows it.
function Builder:upper() return self:byte(self:net() + (self.is_ip6 and 6 or 9)) end

--- See to it that there is an IPv4 header, or an IPv6 header if it is IPv6's. True if
--- there is, and it is `protocol`'s (nil: any).
function Builder:make_network(protocol)
  if not self.is_ip6 then return self:make_ip(protocol) end
  if not self.p then return false end
  if not self:has_net() then self:set_net(0, 0) end
  if self:network_length() < IP6_HEADER and not begin_ip6(self) then return false end
  return not protocol or self:upper() == 0 or self:upper() == protocol
end

--- The first fragment, or no fragment?
function Builder:is_first()
  return self.is_ip6 or bit.band(self:half(self:net() + 6), 0x1fff) == 0
end

--- See to it that a header of the network header's protocol follows, if that is known.
function Builder:make_transport()
  if not self:is_first() then return false end
  if self:transport_length() >= 8 then return true end
  local protocol, at = self:upper(), self:transport()
  local length = HEADERS[protocol]
  if not length then return true end
  if self.wanted > 0 then length = math.max(0, math.min(length, self.wanted - at)) end
  if self:transport_length() >= length then return true end
  local full = math.max(length, 4)
  if not self:put(full - self:transport_length()) then return false end
  if protocol == TCP and length >= 13 then self:set(at + 12, 1, 0x50) end
  if self.flow then
    self:set(at, 2, self.flow.sport)
    self:set(at + 2, 2, self.flow.dport)
  end
  self.p.length = self.p.length - (full - length)
  return true
end

--- See to it that the header behind the IP header has `length` bytes.
function Builder:extend_transport(length)
  local lacking = length - self:transport_length()
  return lacking <= 0 or self:put(lacking)
end

-- Finishing -------------------------------------------------------------------------

local function complete_ip(self)
  local net = self:net()
  local total = self:half(net + 2)
  if total == 0 then
    total = self.wanted
    if total >= net then total = total - net end
    if total == 0 then total = self:network_length() end
    total = math.min(total, 65535)
    self:set(net + 2, 2, total)
  end
  local udp = self:transport()
  if self:byte(net + 9) == UDP and self:is_first() and self:transport_length() >= 6
      and self:half(udp + 4) == 0 then
    self:set(udp + 4, 2, total - (udp - net))
  end
  ffi.copy(self.p.note32 + note.DST_IP, self.p.data + net + 16, 4)
  return total
end

local function complete_ip6(self)
  local net, at = self:net(), self:transport()
  local size = math.max(self.wanted - at, self:transport_length())
  size = math.min(size, 65535)
  self:set(net + 4, 2, size)
  local is_udp = self:upper() == UDP and self:transport_length() >= 6
  if is_udp and self:half(at + 4) == 0 then
    self:set(at + 4, 2, size)
  end
  ffi.copy(self.p.note8 + note.DST_IP6, self.p.data + net + 24, 16)
  return IP6_HEADER + size
end

local SUMS = {[TCP] = true, [UDP] = true, [ICMP] = true}
local SUMS6 = {[TCP] = true, [UDP] = true}

local function set_checksums(self)
  local net, data = self:net(), self.p.data
  if self.is_ip6 then
    if SUMS6[self:upper()] then
      C.pg_ip6_l4_set(data + net, data + self:transport(), self:transport_length(),
        self:upper())
    end
    return
  end
  self:set(net + 10, 2, 0)
  self:set(net + 10, 2, C.pg_checksum(data + net, self:byte(net) % 16 * 4, 0))
  local protocol = self:byte(net + 9)
  if bit.band(self:half(net + 6), 0x3fff) ~= 0 or not SUMS[protocol] then return end
  local length = self:transport_length()
  C.pg_ip4_l4_set(data + net, data + self:transport(), length, protocol)
end

--- Complete headers and lengths; with `checksums`, set those, and let the packet be as
--- long as its IP header says. Returns the packet, or nil.
function Builder:finish(checksums)
  if self.p and (self.flow or self.is_ip6) then self:make_network() end
  local function has_ip()
    return self.p and (self.is_ip or self.is_ip6) and self:has_net()
      and self:network_length() >= (self.is_ip6 and IP6_HEADER or IP_HEADER)
  end
  if has_ip() then self:make_transport() end
  if has_ip() then
    local total = (self.is_ip6 and complete_ip6 or complete_ip)(self)
    if checksums then
      local lacking = total - self:network_length()
      if lacking <= 0 or self:put(lacking) then set_checksums(self) end
    end
  end
  local p = self.p
  if p and self.wanted > p.length then
    p.note32[note.EXTRA_LENGTH] = self.wanted - p.length
  end
  return p
end

return Builder
