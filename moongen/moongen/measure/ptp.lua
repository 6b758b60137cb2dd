-- SPDX-License-Identifier: Apache-2.0
-- The Precision Time Protocol as far as packets are distinguished: where its sequence
-- number is, over Ethernet (IEEE 1588-2008, annex F) or UDP (annexes D and E).

local ether_type = require("net.wire.ether_type")
local read16 = require("net.wire.bytes").read16

local M = {}

local TYPE_PTP, TYPE_IP4, TYPE_IP6 = ether_type.PTP, ether_type.IP4, ether_type.IP6
local TAGS = ether_type.TAGS
local PROTO_UDP = 17
local UDP_HEADER, IP6_HEADER = 8, 40
local PTP_HEADER, SEQUENCE = 34, 30 -- IEEE 1588-2008, table 18
local VERSION_BYTE, VERSION = 1, 2

local function u16(bytes, at) return read16(bytes + at) end

-- Where UDP's payload begins in the IP packet at `at`; nil if there is none.
local function udp_payload(bytes, length, at, type)
  if type == TYPE_IP4 and length >= at + 20 and bytes[at + 9] == PROTO_UDP then
    return at + bytes[at] % 16 * 4 + UDP_HEADER
  elseif type == TYPE_IP6 and length >= at + IP6_HEADER
    and bytes[at + 6] == PROTO_UDP then
    return at + IP6_HEADER + UDP_HEADER
  end
end

--- Where the PTP header of a frame (`bytes`, uint8_t *) of `length` bytes begins, or
--- nil.
function M.header(bytes, length)
  if length < 14 then return nil end
  local at = 14
  local type = u16(bytes, at - 2)
  while TAGS[type] and length >= at + 4 do
    at = at + 4
    type = u16(bytes, at - 2)
  end
  if type ~= TYPE_PTP then at = udp_payload(bytes, length, at, type) end
  if at and length >= at + PTP_HEADER and bytes[at + VERSION_BYTE] % 16 == VERSION then
    return at
  end
end

--- The sequence number of a frame; nil if it isn't PTP's.
function M.sequence(bytes, length)
  local at = M.header(bytes, length)
  return at and u16(bytes, at + SEQUENCE)
end

--- Set it. False if the frame isn't PTP's.
function M.set_sequence(bytes, length, number)
  local at = M.header(bytes, length)
  if not at then return false end
  bytes[at + SEQUENCE] = math.floor(number / 256) % 256
  bytes[at + SEQUENCE + 1] = number % 256
  return true
end

return M
