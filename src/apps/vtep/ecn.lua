-- SPDX-License-Identifier: Apache-2.0
-- Congestion marks of the underlay, carried over to the inner packet (RFC 6040,
-- section 4.2).

local band, bnot, bor, lshift, rshift, tobit =
  bit.band, bit.bnot, bit.bor, bit.lshift, bit.rshift, bit.tobit

local ecn = {}

local ETHERNET, IP4, IP6 = 14, 20, 40 -- bytes of headers
local NOT_ECT, ECT1, ECT0, CE = 0, 1, 2, 3

-- What the inner field becomes; nil: the packet must be dropped.
local function combined(inner, outer)
  if outer == CE then
    if inner == NOT_ECT then return nil end
    return CE
  end
  if outer == ECT1 and inner == ECT0 then return ECT1 end
  return inner
end

-- Change the first word of an IPv4 header, and the checksum with it (RFC 1624).
local function set_tos(data, tos)
  local check = bor(lshift(data[10], 8), data[11])
  local sum = tobit(0xffff - check + 0xffff - data[1] + tos)
  sum = tobit(band(sum, 0xffff) + rshift(sum, 16))
  sum = band(bnot(tobit(band(sum, 0xffff) + rshift(sum, 16))), 0xffff)
  data[1], data[10], data[11] = tos, rshift(sum, 8), band(sum, 255)
end

--- Bring the outer ECN field `outer` (0 to 3) into the frame of `length` bytes (at
--- least 14) at `data`; false if the packet must be dropped: congestion was met, and
--- its sender wouldn't hear of it. Only ECT(1) and CE change anything.
function ecn.carry_over(data, length, outer)
  local ip = data + ETHERNET
  if data[12] == 8 and data[13] == 0 and length >= ETHERNET + IP4 then
    local tos = ip[1]
    local new = combined(band(tos, 3), outer)
    if not new then return false end
    if new ~= band(tos, 3) then set_tos(ip, bor(band(tos, 0xfc), new)) end
  elseif data[12] == 0x86 and data[13] == 0xdd and length >= ETHERNET + IP6 then
    local byte = ip[1]
    local new = combined(band(rshift(byte, 4), 3), outer)
    if not new then return false end
    ip[1] = bor(band(byte, 0xcf), lshift(new, 4))
  end
  return true
end

return ecn
