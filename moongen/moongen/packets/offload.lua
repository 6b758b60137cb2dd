-- SPDX-License-Identifier: Apache-2.0
-- What a script leaves to the device that sends: checksums and VLAN tags, for a packet
-- or an array of buffers. They are asked for here, and done when the packets are sent
-- (src/native/dpdk/offload.c), so that later changes of a packet count, too.

local bit = require("bit")
local constants = require("moongen.packets.constants")
local C = require("core.declare")("native/moongen.h")

local bor, lshift = bit.bor, bit.lshift

local offload = {}

local ETHERNET, IP4, IP6 = 14, 20, 40 -- bytes of headers
local MOST_L2, MOST_L3 = 127, 511     -- bits of the mbuf's tx_offload

local IP4_FLAGS = bor(constants.PKT_TX_IPV4, constants.PKT_TX_IP_CKSUM)
local FLAGS = {
  IP = {IP4_FLAGS, constants.PKT_TX_IPV6},
  Udp = {bor(IP4_FLAGS, constants.PKT_TX_UDP_CKSUM),
    bor(constants.PKT_TX_IPV6, constants.PKT_TX_UDP_CKSUM)},
  Tcp = {bor(IP4_FLAGS, constants.PKT_TX_TCP_CKSUM),
    bor(constants.PKT_TX_IPV6, constants.PKT_TX_TCP_CKSUM)},
}

local function check_lengths(l2, l3)
  if l2 >= 0 and l2 <= MOST_L2 and l3 >= 0 and l3 <= MOST_L3 then return end
  error(("a header begins after 0 to %d bytes and has up to %d, not %s and %s")
    :format(MOST_L2, MOST_L3, tostring(l2), tostring(l3)), 4)
end

-- Flags and lengths of headers, with libmoon's defaults: over IPv4 unless `ip4` is
-- false.
local function request(kind, ip4, l2, l3)
  local six = ip4 ~= nil and not ip4
  l2, l3 = l2 or ETHERNET, l3 or (six and IP6 or IP4)
  check_lengths(l2, l3)
  return kind[six and 2 or 1], l2, l3
end

local function tci_of(vlan, pcp, cfi)
  return bor(vlan, lshift(pcp or 0, 13), lshift(cfi or 0, 12))
end

-- How many packets of the array are meant.
local function count(bufs, n)
  n = n or bufs.size
  if n >= 0 and n <= bufs.maxSize then return n end
  error(("this array has room for %d packets, not %s"):format(bufs.maxSize,
    tostring(n)), 3)
end

-- A method each of packets and of arrays for a kind of checksum.
local function add(packets, arrays, name)
  local kind = FLAGS[name]
  packets["offload" .. name .. "Checksum"] = function (p, ip4, l2, l3)
    local flags, bytes2, bytes3 = request(kind, ip4, l2, l3)
    p.ol_flags = bor(p.ol_flags, flags)
    p.tx_offload = bytes2 + bytes3 * 128
  end
  arrays["offload" .. name .. "Checksums"] = function (bufs, ip4, l2, l3, n)
    local flags, bytes2, bytes3 = request(kind, ip4, l2, l3)
    C.pg_offload_flags(bufs.array, count(bufs, n), flags, bytes2, bytes3)
  end
end

--- Give libmoon's methods to packets (a table of methods) and to arrays of buffers (a
--- table of methods of objects with `array` and `size`; either may be nil).
function offload.add_to(packets, arrays)
  packets, arrays = packets or {}, arrays or {}
  for name in pairs(FLAGS) do add(packets, arrays, name) end

  --- Send the packet with a VLAN tag: identifier, priority (0) and cfi (0).
  function packets.setVlan(p, vlan, pcp, cfi)
    C.pg_offload_vlan(p, tci_of(vlan, pcp, cfi))
  end

  --- The same for all packets of the array, which may have gaps.
  function arrays.setVlans(bufs, vlan, pcp, cfi)
    local tci = tci_of(vlan, pcp, cfi)
    for i = 0, count(bufs) - 1 do
      if bufs.array[i] ~= nil then C.pg_offload_vlan(bufs.array[i], tci) end
    end
  end

  local function no_ipsec()
    error("no device here encrypts IPsec packets as it sends them", 2)
  end
  packets.offloadIPSec, arrays.offloadIPSec = no_ipsec, no_ipsec
  packets.setESPTrailerLength = no_ipsec
end

return offload
