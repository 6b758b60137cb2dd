-- SPDX-License-Identifier: Apache-2.0
-- Ethernet headers, and MAC addresses: 6 bytes, as pton() gives them.

local ffi = require("ffi")
local check = require("lib.protocol.check")
local class = require("lib.lua.class")
local fields = require("lib.protocol.fields")
local header = require("lib.protocol.header")

local C = ffi.C
local mac_t = ffi.typeof("uint8_t[6]")
local bytes_t, halves_t = ffi.typeof("uint8_t *"), ffi.typeof("uint16_t *")

local ethernet = class.subClass(header)
ethernet._name = "ethernet"
ethernet._ulp = {method = "type", class_map = {
  [0x0800] = "lib.protocol.ipv4", [0x86dd] = "lib.protocol.ipv6",
  [0x8100] = "lib.protocol.dot1q",
}}
ethernet:init{ffi.typeof[[
  struct {
    uint8_t ether_dhost[6], ether_shost[6];
    uint16_t ether_type;
  } __attribute__((packed))
]]}

-- As many bytes, to be read.
local function bytes_of(name, from, size)
  if type(from) ~= "cdata" or tonumber(from) then check.bytes(name, from, size) end
  return ffi.cast(bytes_t, from)
end

--- A header of `dst`, `src` and `type`; zeros without them.
function ethernet:new(config)
  if type(config) ~= "table" then check.fields("ethernet", config) end
  local o = ethernet:superClass().new(self)
  o:dst(config.dst)
  o:src(config.src)
  o:type(config.type)
  return o
end

fields.bytes(ethernet, "dst", "ether_dhost", 6)
fields.bytes(ethernet, "src", "ether_shost", 6)
fields.u16(ethernet, "type", "ether_type")

--- Exchange source and destination.
function ethernet:swap()
  local h = ffi.cast(halves_t, self._header.box[0])
  local a, b, c = h[0], h[1], h[2]
  h[0], h[1], h[2] = h[3], h[4], h[5]
  h[3], h[4], h[5] = a, b, c
end

--- The address that the text ("02:00:00:00:00:01") stands for; raises an error if it
--- is none.
function ethernet:pton(text)
  if type(text) ~= "string" then check.text("Ethernet", text) end
  local mac, n = mac_t(), 0
  for digits in (text .. ":"):gmatch("(.-):") do
    if n == 6 or not digits:match("^%x%x$") then n = 0 break end
    mac[n] = tonumber(digits, 16)
    n = n + 1
  end
  if n == 6 then return mac end
  error(("invalid mac address %s: write six bytes, as in 02:00:00:00:00:01")
    :format(text), 2)
end

--- The address as text.
function ethernet:ntop(mac)
  mac = bytes_of("ntop", mac, 6)
  return ("%02x:%02x:%02x:%02x:%02x:%02x"):format(mac[0], mac[1], mac[2], mac[3],
    mac[4], mac[5])
end

--- The MAC address of an IPv6 multicast address (RFC 2464, section 7).
function ethernet:ipv6_mcast(ip)
  local n = bytes_of("ipv6_mcast", ip, 16)
  if n[0] ~= 0xff then
    error(("invalid multicast address: %s; those of IPv6 begin with ff"):format(
      require("lib.protocol.ipv6"):ntop(ip)), 2)
  end
  return mac_t(0x33, 0x33, n[12], n[13], n[14], n[15])
end

--- Does the address have the group bit?
function ethernet:is_mcast(mac)
  return bytes_of("is_mcast", mac, 6)[0] % 2 == 1
end

local BROADCAST = ethernet:pton("ff:ff:ff:ff:ff:ff")

--- Is it that of broadcasts?
function ethernet:is_bcast(mac)
  if type(mac) ~= "cdata" or tonumber(mac) then check.bytes("is_bcast", mac, 6) end
  return C.memcmp(mac, BROADCAST, 6) == 0
end

return ethernet
