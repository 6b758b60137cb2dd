-- SPDX-License-Identifier: Apache-2.0
-- Neighbour discovery (RFC 4861) for the apps of this folder: solicitations and
-- advertisements with one option, and how to read them. Host code: a few packets a
-- second.

local ffi = require("ffi")
local bytes = require("apps.ipv6.bytes")
local datagram = require("lib.protocol.datagram")
local ethernet = require("lib.protocol.ethernet")
local icmp_header = require("lib.protocol.icmp.header")
local ipv6 = require("lib.protocol.ipv6")
local na = require("lib.protocol.icmp.nd.na")
local nd_header = require("lib.protocol.icmp.nd.header")
local ns = require("lib.protocol.icmp.nd.ns")
local tlv = require("lib.protocol.icmp.nd.options.tlv")

local C = ffi.C
local HEADERS, ICMP, HOP_LIMIT = bytes.HEADERS, bytes.ICMP, 255
local MESSAGE = 24 -- bytes of a solicitation or an advertisement, without options
local TARGET = HEADERS + 8

local nd = {SOLICITATION = 135, ADVERTISEMENT = 136}

--- Bytes behind the IPv6 header of a frame that holds a solicitation or an
--- advertisement; 0 if it is something else.
function nd.size(p)
  local data, length = p.data, p.length
  if not bytes.is_ipv6(data, length) then return 0 end
  local size = bytes.payload(data, length)
  if size < MESSAGE or data[20] ~= ICMP then return 0 end
  if data[HEADERS] ~= nd.SOLICITATION and data[HEADERS] ~= nd.ADVERTISEMENT then
    return 0
  end
  return size
end

--- Is such a frame a solicitation, not an advertisement?
function nd.is_solicitation(p) return p.data[HEADERS] == nd.SOLICITATION end

--- Was an advertisement asked for?
function nd.is_solicited(p) return bit.band(p.data[HEADERS + 4], 0x40) ~= 0 end

--- Does such a frame come from the link itself, as it must?
function nd.is_local(p) return p.data[21] == HOP_LIMIT end

--- Is its checksum right?
function nd.is_sound(p, size) return bytes.checksum(p.data, ICMP, size) == 0 end

--- Is it about the address?
function nd.is_about(p, address) return C.memcmp(p.data + TARGET, address, 16) == 0 end

--- Its one option, if that is the link-layer address of the kind (1 or 2); or nil.
function nd.option(p, size, kind)
  local options = nd_header:options(p.data + HEADERS + MESSAGE, size - MESSAGE)
  if #options == 1 and options[1]:type() == kind then return options[1] end
end

-- A packet of the message with one option.
local function make(kind, message, option, eth, ip)
  local d = datagram:new()
  local value = option:tlv()
  d:payload(message:header_ptr(), message:sizeof())
  local memory, length = d:payload(value, ffi.sizeof(value))
  local icmp = icmp_header:new(kind, 0)
  icmp:checksum(memory, length, ip)
  d:push(icmp)
  ip:payload_length(icmp:sizeof() + length)
  d:push(ip)
  d:push(eth)
  local p = d:packet()
  d:free()
  return p
end

--- A solicitation of `target` by the addresses `mac` and `ip`.
function nd.solicitation(mac, ip, target)
  local group = ipv6:solicited_node_mcast(target)
  return make(nd.SOLICITATION, ns:new(target), tlv:new(1, mac),
    ethernet:new{src = mac, dst = ethernet:ipv6_mcast(group), type = 0x86dd},
    ipv6:new{src = ip, dst = group, next_header = ICMP, hop_limit = HOP_LIMIT})
end

--- The answer to a solicitation (a frame): that `ip` is at `mac`.
function nd.advertisement(mac, ip, solicitation)
  local data = solicitation.data
  return make(nd.ADVERTISEMENT, na:new(ip, nil, 1, nil), tlv:new(2, mac),
    ethernet:new{src = mac, dst = data + 6, type = 0x86dd},
    ipv6:new{src = ip, dst = data + 22, next_header = ICMP, hop_limit = HOP_LIMIT})
end

return nd
