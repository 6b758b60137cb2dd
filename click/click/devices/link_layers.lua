-- SPDX-License-Identifier: Apache-2.0
-- Link layers of capture files and devices, under Click's names, and where the IP
-- packet is in their frames. (Numbers: tcpdump.org's list of link-layer header types.)

local bit = require("bit")
local ether_type = require("net.wire.ether_type")
local note = require("click.note")
local read16 = require("net.wire.bytes").read16

local link_layers = {}

local ETHERNET, RAW = 1, 101

local NUMBERS = {
  NULL = 0, ETHER = ETHERNET, PPP = 9, FDDI = 10, ATM = 100, RFC1483 = 100,
  ATM_RFC1483 = 100, IP = RAW, HDLC = 104, ["802_11"] = 105, ["802.11"] = 105,
  SLL = 113, PRISM = 119, AIRONET = 120, SUNATM = 123, ["802_11_RADIO"] = 127,
  ["802.11_RADIO"] = 127, PPP_HDLC = 50,
}
-- The same under another number on some systems.
local ALIKE = {[12] = RAW, [14] = RAW, [228] = RAW, [229] = RAW, [11] = 100}

--- The number of the link layer of that name, or nil.
function link_layers.number(name) return NUMBERS[name] end

local NAMES = {
  [0] = "NULL", [1] = "ETHER", [9] = "PPP", [10] = "FDDI", [50] = "PPP_HDLC",
  [100] = "ATM", [101] = "IP", [104] = "HDLC", [105] = "802_11", [113] = "SLL",
  [119] = "PRISM", [120] = "AIRONET", [123] = "SUNATM", [127] = "802_11_RADIO",
}

--- The usual number for the link layer of this one.
function link_layers.usual(number) return ALIKE[number] or number end

--- Its name; a number as text, if it has none.
function link_layers.name(number)
  return NAMES[link_layers.usual(number)] or tostring(number)
end

-- Where IP is -----------------------------------------------------------------------
-- Functions of a frame's bytes and length: the offset of the IP header, if the frame
-- has one as far as the link layer says.

local IPV4, IPV6, TAGS = ether_type.IP4, ether_type.IP6, ether_type.TAGS

local function word(data, at) return read16(data + at) end

local function is_ip(type) return type == IPV4 or type == IPV6 end

local FINDERS = {
  [RAW] = function () return 0 end,
  [ETHERNET] = function (data, n)
    if n < 14 then return nil end
    local type, at = word(data, 12), 14
    while TAGS[type] and n >= at + 4 do type, at = word(data, at + 2), at + 4 end
    return is_ip(type) and at or nil
  end,
  [NUMBERS.NULL] = function () return 4 end,
  [NUMBERS.SLL] = function (data, n)
    return n >= 16 and is_ip(word(data, 14)) and 16 or nil
  end,
  [NUMBERS.HDLC] = function (data, n)
    return n >= 4 and is_ip(word(data, 2)) and 4 or nil
  end,
  [NUMBERS.PPP] = function (data, n)
    local at = n >= 2 and word(data, 0) == 0xff03 and 2 or 0
    if n < at + 2 then return nil end
    if data[at] == 0x21 or data[at] == 0x57 then return at + 1 end
    local type = word(data, at)
    return (type == 0x0021 or type == 0x0057) and at + 2 or nil
  end,
}
FINDERS[NUMBERS.PPP_HDLC] = function (data, n)
  if n < 4 then return nil end
  if data[0] == 0xff then return FINDERS[NUMBERS.PPP](data, n) end
  return (data[0] == 0x0f or data[0] == 0x8f) and FINDERS[NUMBERS.HDLC](data, n) or nil
end

--- Can find_ip() look into frames of this link layer?
function link_layers.may_hold_ip(number)
  return FINDERS[link_layers.usual(number)] ~= nil
end

local NETWORK, TRANSPORT = note.NETWORK_HEADER, note.TRANSPORT_HEADER
local IPV4_LEAST, IPV6_LEAST = 20, 40

--- Note where the IP header of the packet is, whose frames are of the link layer
--- `number`; false if it has no sound one.
function link_layers.find_ip(p, number)
  local find = FINDERS[ALIKE[number] or number]
  local data, n = p.data, p.length
  local at = find and find(data, n)
  if not at or at >= n then return false end
  local version, header = bit.rshift(data[at], 4), IPV6_LEAST
  if version == 4 then header = bit.band(data[at], 15) * 4 end
  local least = version == 4 and IPV4_LEAST or IPV6_LEAST
  if version ~= 4 and version ~= 6 or header < least or at + header > n then
    return false
  end
  p.note16[NETWORK] = p.data_off + at
  p.note16[TRANSPORT] = p.data_off + at + header
  return true
end

return link_layers
