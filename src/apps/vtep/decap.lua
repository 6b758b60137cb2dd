-- SPDX-License-Identifier: Apache-2.0
-- Decap: checks the outer headers of what comes from the underlay, and takes them off
-- VXLAN packets for this end point (RFC 7348). What may be for the host itself (ARP,
-- neighbour discovery, echo requests) goes to `host`. Lengths are checked before
-- bytes are read.

local ffi = require("ffi")
local C = require("core.native")
local deliver = require("apps.vtep.deliver")

local Decap = {outputs = {"output", "host"}, drops = {
  "short", "other_mac", "other_address", "bad_length", "bad_checksum", "fragment",
  "other_port", "bad_udp_checksum", "no_vni", "unknown_vni", "bad_source",
  "unknown_remote", "inner_tag", "congested", "other_protocol"}}
Decap.__index = Decap
local SHORT, OTHER_MAC, OTHER_ADDRESS, BAD_LENGTH, BAD_CHECKSUM, FRAGMENT, OTHER_PORT,
  BAD_UDP_CHECKSUM, NO_VNI, UNKNOWN_VNI, BAD_SOURCE, UNKNOWN_REMOTE, INNER_TAG,
  CONGESTED, OTHER_PROTOCOL = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
local HOST = 2

Decap.link_names = {
  input = {input = true}, output = {output = "output", host = "host"},
}

local ETHERNET, IP4, IP6, UDP_VXLAN = 14, 20, 40, 16 -- bytes of headers
local TYPE_IP4, TYPE_ARP, TYPE_IP6 = 0x0800, 0x0806, 0x86dd
local UDP, FRAGMENT_HEADER = 17, 44 -- IANA's protocol numbers
local VNI_FLAG = 8 -- RFC 7348, section 5: "I"
local LEAF_MASK = 4095 -- as apps.vtep.tunnel indexes VNIs
local own_t = ffi.typeof("struct { int32_t mac_low, mac_high; int32_t ip[4]; }")
local word_t, half_t = ffi.typeof("const int32_t *"), ffi.typeof("const uint16_t *")
local band, bor, bxor, lshift, rshift, tobit =
  bit.band, bit.bor, bit.bxor, bit.lshift, bit.rshift, bit.tobit
local see, strip, tagged, marked =
  deliver.see, deliver.strip, deliver.tagged, deliver.marked

local function get16(data, offset)
  return (bor(lshift(data[offset], 8), data[offset + 1]))
end

-- Bytes of the IPv4 header by its first byte, or 0 if it can't be one.
local function header_length(first)
  local length = lshift(band(first, 15), 2)
  return rshift(first, 4) == 4 and length >= IP4 and length or 0
end

-- The sum of the options' words, as this CPU reads them, on top of `sum`.
local function with_options(h, sum, header)
  for i = IP4 / 2, header / 2 - 1 do sum = tobit(sum + h[i]) end
  return sum
end

-- Is the checksum of the IPv4 header of `header` bytes right (RFC 1071)? The sum of
-- 30 words at most: folded once it is 0xffff or it isn't a multiple.
local function sound(ip, header)
  local h = ffi.cast(half_t, ip)
  local sum = tobit(
    h[0] + h[1] + h[2] + h[3] + h[4] + h[5] + h[6] + h[7] + h[8] + h[9])
  if header > IP4 then sum = with_options(h, sum, header) end
  return tobit(band(sum, 0xffff) + rshift(sum, 16)) == 0xffff
end

-- Check UDP and VXLAN at `udp`, with `left` bytes of IP's payload; `size` bytes of
-- addresses are at `addresses`. The number of the VNI; or 0 and that of a drop.
local function vxlan(self, udp, left, addresses, size)
  if left < UDP_VXLAN + ETHERNET then return 0, SHORT end
  if get16(udp, 2) ~= self.port then return 0, OTHER_PORT end
  local length = get16(udp, 4)
  if length < UDP_VXLAN + ETHERNET or length > left then return 0, BAD_LENGTH end
  if bor(udp[6], udp[7]) ~= 0 then
    local sum = C.pg_pseudo_sum(addresses, size, UDP, length)
    if C.pg_checksum(udp, length, sum) ~= 0 then return 0, BAD_UDP_CHECKSUM end
  end
  if band(udp[8], VNI_FLAG) == 0 then return 0, NO_VNI end
  local page = self.page[bor(lshift(udp[12], 4), rshift(udp[13], 4))]
  local index = self.leaf[tobit(page + band(get16(udp, 13), LEAF_MASK))]
  if index == 0 then return 0, UNKNOWN_VNI end
  return index
end

-- The packet whose UDP header is at offset `at`, as the frame in it.
local function accept(self, p, at, index, tos, from, same, words)
  local data = p.data + at
  local length = tobit(get16(data, 4) - UDP_VXLAN)
  data = data + UDP_VXLAN
  if band(data[6], 1) ~= 0 then return nil, BAD_SOURCE end
  if self.tags and tagged(data) then return nil, INNER_TAG end
  if not see(self, data, index, from, same, words) then return nil, UNKNOWN_REMOTE end
  if not marked(data, length, tos) then return nil, CONGESTED end
  return (strip(p, tobit(at + UDP_VXLAN), length, self.vnis[index].vlan))
end

local function same4(a, b) return a[0] == b[0] end

local function same6(a, b)
  return bor(bor(bxor(a[0], b[0]), bxor(a[1], b[1])),
             bor(bxor(a[2], b[2]), bxor(a[3], b[3]))) == 0
end

local function for_own_mac(own, data)
  local w = ffi.cast(word_t, data)
  return w[0] == own.mac_low and band(w[1], 0xffff) == own.mac_high
end

local function process4(self, p)
  local length, data, own = p.length, p.data, self.own
  if length < ETHERNET then return nil, SHORT end
  local kind = get16(data, 12)
  if kind ~= TYPE_IP4 then
    if kind == TYPE_ARP then return p, HOST end
    return nil, OTHER_PROTOCOL
  end
  if length < ETHERNET + IP4 then return nil, SHORT end
  if not for_own_mac(own, data) then return nil, OTHER_MAC end
  local ip = data + ETHERNET
  local addresses = ffi.cast(word_t, ip + 12)
  if addresses[1] ~= own.ip[0] then return nil, OTHER_ADDRESS end
  local header = header_length(ip[0])
  if header == 0 then return nil, BAD_LENGTH end
  local total = get16(ip, 2)
  if total < header or tobit(total + ETHERNET) > length then return nil, BAD_LENGTH end
  if not sound(ip, header) then return nil, BAD_CHECKSUM end
  if bor(band(ip[6], 0x3f), ip[7]) ~= 0 then return nil, FRAGMENT end
  if ip[9] ~= UDP then return p, HOST end
  local index, reason = vxlan(self, ip + header, tobit(total - header), ip + 12, 8)
  if index == 0 then return nil, reason end
  local at = tobit(ETHERNET + header)
  p, reason = accept(self, p, at, index, ip[1], addresses, same4, 1)
  return p, reason
end

local function process6(self, p)
  local length, data, own = p.length, p.data, self.own
  if length < ETHERNET then return nil, SHORT end
  if get16(data, 12) ~= TYPE_IP6 then return nil, OTHER_PROTOCOL end
  if length < ETHERNET + IP6 then return nil, SHORT end
  local ip = data + ETHERNET
  if rshift(ip[0], 4) ~= 6 then return nil, BAD_LENGTH end
  local left = get16(ip, 4)
  if tobit(left + ETHERNET + IP6) > length then return nil, BAD_LENGTH end
  if not for_own_mac(own, data) then
    -- Solicitations go to a group (RFC 4861, section 7.2.2).
    if get16(data, 0) == 0x3333 then return p, HOST end
    return nil, OTHER_MAC
  end
  if ip[6] ~= UDP then
    if ip[6] == FRAGMENT_HEADER then return nil, FRAGMENT end
    return p, HOST
  end
  local addresses = ffi.cast(word_t, ip + 8)
  if not same6(addresses + 4, own.ip) then return nil, OTHER_ADDRESS end
  local index, reason = vxlan(self, ip + IP6, left, ip + 8, 32)
  if index == 0 then return nil, reason end
  local tos = bor(lshift(band(ip[0], 15), 4), rshift(ip[1], 4))
  p, reason = accept(self, p, ETHERNET + IP6, index, tos, addresses, same6, 4)
  return p, reason
end

--- Make the app for a tunnel (apps.vtep.tunnel).
function Decap:new(tunnel)
  local s, own = tunnel.settings, own_t()
  ffi.copy(own, s.mac, 6)
  ffi.copy(own.ip, s.address, #s.address)
  return setmetatable({
    process = tunnel.family == 4 and process4 or process6, own = own, port = s.port,
    page = tunnel.page, leaf = tunnel.leaf, vnis = tunnel.vnis, fdb = tunnel.fdb,
    remotes = tunnel.remotes.array, known = tunnel.remotes.number,
    digest = tunnel.digest, room = tunnel.digest_room, tags = not s.keep_tags,
    strict = s.strict, learn = s.learn,
  }, self)
end

return {Decap = Decap}
