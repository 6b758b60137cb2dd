-- SPDX-License-Identifier: Apache-2.0
-- What a packet can leave to the port that sends it: checksums and a VLAN tag, by
-- libmoon's methods on packets. The port does it in software as it sends the packet, or
-- has the device do it if its string says offload=1 and the device can. Loading this
-- module gives them to every packet.

local C = require("core.native")
local packet = require("core.packet")

local methods = packet.methods
local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift

local TCP, UDP = 6, 17          -- IANA's numbers
local MAX_L2, MAX_L3 = 127, 511 -- bytes: bits of the mbuf's tx_offload
local HAS_VLAN = 0x0200000000000001ULL -- RTE_MBUF_F_TX_VLAN, RTE_MBUF_F_RX_VLAN

local function bad_vlan(vlan, pcp, cfi)
  error(("a VLAN tag has an identifier of 0 to 4095, a priority of 0 to 7 and a cfi "
    .. "of 0 or 1, not %s, %s and %s"):format(tostring(vlan), tostring(pcp),
    tostring(cfi)), 3)
end

--- Send the packet with a VLAN tag: identifier, priority (0) and cfi (0).
function methods.setVlan(p, vlan, pcp, cfi)
  pcp, cfi = pcp or 0, cfi or 0
  if not (vlan >= 0 and vlan <= 4095 and pcp >= 0 and pcp <= 7
    and cfi >= 0 and cfi <= 1) then
    bad_vlan(vlan, pcp, cfi)
  end
  C.pg_offload_vlan(p, bor(vlan, lshift(pcp, 13), lshift(cfi, 12)))
end

--- Identifier, priority and cfi of the tag that setVlan gave the packet, or that its
--- port took off it; nil if there is none. (A tag among its bytes is in p:get().)
function methods.getVlan(p)
  if band(p.ol_flags, HAS_VLAN) == 0 then return nil end
  local tci = p.vlan_tci
  return band(tci, 0xfff), rshift(tci, 13), band(rshift(tci, 12), 1)
end

local function bad_lengths(l2, l3)
  error(("a header begins after 0 to %d bytes and has 20 to %d, not %s and %s")
    :format(MAX_L2, MAX_L3, tostring(l2), tostring(l3)), 4)
end

local function offload(p, ip4, l2, l3, protocol)
  l2, l3 = l2 or 14, l3 or 0
  if not (l2 >= 0 and l2 <= MAX_L2 and (l3 == 0 or (l3 >= 20 and l3 <= MAX_L3))) then
    bad_lengths(l2, l3)
  end
  local version = (ip4 == nil or ip4) and 4 or 6
  return C.pg_offload_checksum(p, version, l2, l3, protocol) ~= 0
end

--- Send the packet with the checksum of its IPv4 header, which comes after `l2` (14)
--- bytes and has `l3` (what it says). Whether there is one; IPv6 (`ip4` is false) has
--- none to compute. What moves the packet's start afterwards must ask again.
function methods.offloadIPChecksum(p, ip4, l2, l3)
  if ip4 == false then return false end
  return (offload(p, ip4, l2, l3, 0)) -- no tail call: checksum.lua
end

--- Send the packet with the checksums of UDP and, unless `ip4` is false, of the IPv4
--- header before it; lengths as for offloadIPChecksum (`l3` 40 for IPv6). Whether both
--- are there; if not, the packet stays as it is.
function methods.offloadUdpChecksum(p, ip4, l2, l3)
  return (offload(p, ip4, l2, l3, UDP))
end

--- The same for TCP.
function methods.offloadTcpChecksum(p, ip4, l2, l3)
  return (offload(p, ip4, l2, l3, TCP))
end

return methods
