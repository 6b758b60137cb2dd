-- SPDX-License-Identifier: Apache-2.0
-- Neighbour discovery (RFC 4861) for a tunnel's own IPv6 address: solicitations and
-- advertisements. Host code: a few packets a second.

local ffi = require("ffi")
local checksum = require("net.checksum.checksum")
local packet = require("core.packet")
local settings = require("apps.vtep.settings")

local nd = {}

local IP, ICMP, OPTIONS = 14, 54, 78 -- offsets in the frame
local MESSAGE, OPTION = 24, 8 -- bytes of either, without options; of one option
local ICMP6, HOP_LIMIT = 58, 255 -- RFC 4861: those of 255 come from this network
local SOLICITATION, ADVERTISEMENT = 135, 136
local SOURCE_MAC, TARGET_MAC = 1, 2 -- options
local OVERRIDE, SOLICITED = "\32", "\96" -- flags; the second has the first too
local UNSPECIFIED, RESERVED = ("\0"):rep(16), "\0\0\0"
local ALL_NODES, ALL_NODES_MAC = settings.ip("ff02::1"), "\51\51\0\0\0\1"
local GROUP, GROUP_MAC = settings.ip("ff02::1:ff00:0"):sub(1, 13), "\51\51\255"

-- EtherType to hop limit; a message's first four bytes, its option's first two.
local IP6 = "\134\221\96\0\0\0\0" .. string.char(MESSAGE + OPTION, ICMP6, HOP_LIMIT)
local SOLICIT = string.char(SOLICITATION, 0, 0, 0)
local ADVERTISE = string.char(ADVERTISEMENT, 0, 0, 0)
local SOURCE_OPTION = string.char(SOURCE_MAC, 1)
local TARGET_OPTION = string.char(TARGET_MAC, 1)

-- Put together from bytes: whoever asks may ask often.
local function frame(s, mac, address, message)
  local p = packet.from_string(mac .. s.mac .. IP6 .. s.address .. address .. message)
  local data = p.data
  local sum = checksum.pseudo6(data + IP, ICMP6, MESSAGE + OPTION)
  sum = checksum.of(data + ICMP, MESSAGE + OPTION, sum)
  data[ICMP + 2], data[ICMP + 3] = math.floor(sum / 256), sum % 256
  return p
end

--- A solicitation of the address (16 bytes), to its solicited-node group (RFC 4291,
--- section 2.7.1), in the name of the tunnel with settings `s`.
function nd.request(s, address)
  local tail = address:sub(14)
  local message = SOLICIT .. "\0" .. RESERVED .. address .. SOURCE_OPTION .. s.mac
  return frame(s, GROUP_MAC .. tail, GROUP .. tail, message)
end

local function advertisement(s, to, mac)
  local flags = SOLICITED
  if to == UNSPECIFIED then to, mac, flags = ALL_NODES, ALL_NODES_MAC, OVERRIDE end
  local message = ADVERTISE .. flags .. RESERVED .. s.address .. TARGET_OPTION .. s.mac
  return frame(s, mac, to, message)
end

-- The MAC address that an option of this kind holds, or nil; false for options that
-- no message may have (RFC 4861, section 4.6).
local function option(bytes, kind)
  local at, mac = OPTIONS + 1, nil
  while at <= #bytes do
    local type_, units = bytes:byte(at, at + 1)
    if not units or units == 0 or at + units * 8 - 1 > #bytes then return false end
    if type_ == kind then mac = bytes:sub(at + 2, at + 7) end
    at = at + units * 8
  end
  return mac
end

-- The frame's bytes to the end of its IPv6 payload, if it holds a sound message.
local function message(p)
  if p.length < OPTIONS then return nil end
  local data = p.data
  local payload = data[IP + 4] * 256 + data[IP + 5]
  if data[12] ~= 0x86 or data[13] ~= 0xdd or data[IP + 6] ~= ICMP6
      or data[IP + 7] ~= HOP_LIMIT or payload < MESSAGE or ICMP + payload > p.length
      or data[ICMP + 1] ~= 0 then
    return nil
  end
  local sum = checksum.pseudo6(data + IP, ICMP6, payload)
  if checksum.of(data + ICMP, payload, sum) ~= 0 then return nil end
  return ffi.string(data, ICMP + payload)
end

--- What a frame says, if it is neighbour discovery: as arp.read.
function nd.read(s, p)
  local bytes = message(p)
  local kind = bytes and bytes:byte(ICMP + 1)
  if kind ~= SOLICITATION and kind ~= ADVERTISEMENT then return nil end
  local mac = option(bytes, kind == SOLICITATION and SOURCE_MAC or TARGET_MAC)
  if mac == false then return nil end
  mac = mac or bytes:sub(7, 12)
  local source, target = bytes:sub(23, 38), bytes:sub(63, 78)
  if mac:byte(1) % 2 == 1 or source == s.address then return nil end
  if kind == ADVERTISEMENT then return {mac = mac, address = target} end
  local heard = {mac = mac, address = source}
  if target == s.address then heard.answer = advertisement(s, source, mac) end
  return heard
end

return nd
