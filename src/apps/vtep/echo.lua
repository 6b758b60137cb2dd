-- SPDX-License-Identifier: Apache-2.0
-- Answers to echo requests (RFC 792, RFC 4443) for a tunnel's own address: the request
-- itself, turned around. Host code.

local ffi = require("ffi")
local checksum = require("net.checksum.checksum")
local exchange = require("lib.exchange")

local echo = {}

local ETHERNET, IP4, IP6, ICMP = 14, 20, 40, 8 -- bytes of headers
local PLAIN = 0x45 -- IPv4 without options
local ICMP4, ICMP6 = 1, 58
local REQUEST4, REPLY4, REQUEST6, REPLY6 = 8, 0, 128, 129

-- Change ICMP's type, and its checksum with it (RFC 1624).
local function set_type(icmp, from, to)
  icmp[0] = to
  local sum = checksum.update16(icmp[2] * 256 + icmp[3], from * 256, to * 256)
  icmp[2], icmp[3] = math.floor(sum / 256), sum % 256
end

local function turn4(s, p)
  local ip = p.data + ETHERNET
  if p.length < ETHERNET + IP4 + ICMP or ip[0] ~= PLAIN or ip[9] ~= ICMP4 then
    return false
  end
  local icmp = ip + IP4
  local total = ip[2] * 256 + ip[3]
  if total < IP4 + ICMP or icmp[0] ~= REQUEST4 or icmp[1] ~= 0 then return false end
  set_type(icmp, REQUEST4, REPLY4)
  exchange(ip + 12, ip + 16, 4)
  ip[8], ip[10], ip[11] = s.ttl, 0, 0
  local sum = checksum.of(ip, IP4)
  ip[10], ip[11] = math.floor(sum / 256), sum % 256
  return true
end

local function turn6(s, p)
  local ip = p.data + ETHERNET
  if p.length < ETHERNET + IP6 + ICMP or ip[6] ~= ICMP6 then return false end
  local icmp = ip + IP6
  if ip[4] * 256 + ip[5] < ICMP or icmp[0] ~= REQUEST6 or icmp[1] ~= 0
      or ffi.string(ip + 24, 16) ~= s.address then
    return false
  end
  set_type(icmp, REQUEST6, REPLY6)
  exchange(ip + 8, ip + 24, 16)
  ip[7] = s.ttl
  return true
end

--- If `p`, an IP packet of the family of settings `s` that Decap let through, is an
--- echo request, make it the reply; whether it is.
function echo.turn(s, p)
  local turned = p.length >= ETHERNET and (s.family == 4 and turn4 or turn6)(s, p)
  if turned then exchange(p.data, p.data + 6, 6) end
  return turned
end

return echo
