-- SPDX-License-Identifier: Apache-2.0
-- Neighbour solicitations and advertisements (RFC 4861) in Ethernet frames: checked,
-- read and written. A few packets a second, but for kind(), which each packet is asked.

local ffi = require("ffi")
local arp = require("net.neighbor.arp")
local ip6 = require("net.ip.ip6")
local packet = require("core.packet")
local wire = require("net.wire.bytes")

local C, band, copy = ffi.C, bit.band, ffi.copy
local is_ipv6, payload, read16, write16 = ip6.is_ipv6, ip6.payload, wire.read16,
  wire.write16
local HEADERS, ICMP, HOP_LIMIT = ip6.HEADERS, ip6.ICMP, 255
local MESSAGE, OPTION = 24, 8 -- bytes: of a message without options; of an address's

local nd = {
  FRAME = HEADERS + MESSAGE + OPTION, -- bytes of those that are made here
  SOURCE_MAC = 6, SOURCE = 22, DESTINATION = 38, FLAGS = 58, TARGET = 62, -- offsets
  SOLICITATION = 135, ADVERTISEMENT = 136,       -- kinds
  ROUTER = 0x80, SOLICITED = 0x40, OVERRIDE = 0x20, -- flags of advertisements
  FAR = 1, BAD_SUM = 2, MALFORMED = 3,           -- what may be wrong
}

local SOURCE_MAC, SOURCE, DESTINATION = nd.SOURCE_MAC, nd.SOURCE, nd.DESTINATION
local FLAGS, TARGET, FRAME = nd.FLAGS, nd.TARGET, nd.FRAME
local SOLICITATION, ADVERTISEMENT, SOLICITED =
  nd.SOLICITATION, nd.ADVERTISEMENT, nd.SOLICITED
local NEXT, LIMIT, CODE, SUM = 20, 21, HEADERS + 1, HEADERS + 2
local OPTIONS = HEADERS + MESSAGE
local SOURCE_OPTION, TARGET_OPTION = 1, 2

local GROUP = "\255\2" .. ("\0"):rep(9) .. "\1\255"
local ALL_NODES, ALL_NODES_MAC = "\255\2" .. ("\0"):rep(13) .. "\1", "\51\51\0\0\0\1"

--- SOLICITATION or ADVERTISEMENT if the frame of `length` bytes at `data` holds one,
--- whole; 0 if it is something else.
function nd.kind(data, length)
  if not is_ipv6(data, length) or payload(data, length) < MESSAGE
    or data[NEXT] ~= ICMP then
    return 0
  end
  local kind = data[HEADERS]
  return (kind == SOLICITATION or kind == ADVERTISEMENT) and kind or 0
end

--- Is the message about the address (16 bytes)?
function nd.is_about(data, address) return C.memcmp(data + TARGET, address, 16) == 0 end

--- Was the advertisement asked for?
function nd.is_solicited(data) return band(data[FLAGS], SOLICITED) ~= 0 end

-- Is the sender about to take the address that it asks for?
local function is_from_nobody(data) return ip6.is_unspecified(data + SOURCE) end

-- Where the MAC address in the first option of this type is; 0 if there is none, nil if
-- the options can't be (RFC 4861, section 4.6).
local function find_option(data, ends, wanted)
  local at, found = OPTIONS, 0
  while at < ends do
    local size = at + 2 <= ends and data[at + 1] * 8 or 0
    if size == 0 or at + size > ends then return nil end
    if data[at] == wanted and found == 0 then
      if size ~= OPTION then return nil end
      found = at + 2
    end
    at = at + size
  end
  return found
end

-- What isn't right of the rest of a message of this kind, whose option is at `option`.
local function is_malformed(data, kind, option)
  if not option or data[CODE] ~= 0 or data[TARGET] == 0xff
    or arp.is_group(data + (option > 0 and option or SOURCE_MAC)) then
    return true
  elseif kind == ADVERTISEMENT then
    return data[DESTINATION] == 0xff and nd.is_solicited(data)
  end
  return is_from_nobody(data)
    and (option > 0 or C.memcmp(data + DESTINATION, GROUP, #GROUP) ~= 0)
end

--- Of the message of a `kind` at `data`: the offset of its sender's (or its target's)
--- MAC address, which is SOURCE_MAC if no option has it. Or nil and why nobody may
--- believe it (RFC 4861, sections 7.1.1 and 7.1.2): FAR, it has passed a router;
--- BAD_SUM; MALFORMED, as is what gives a group's address to a neighbour.
function nd.read(data, kind)
  if data[LIMIT] ~= HOP_LIMIT then return nil, nd.FAR end
  local size = read16(data + 18)
  if ip6.checksum(data, ICMP, size) ~= 0 then return nil, nd.BAD_SUM end
  local option = find_option(data, HEADERS + size,
    kind == SOLICITATION and SOURCE_OPTION or TARGET_OPTION)
  if is_malformed(data, kind, option) then return nil, nd.MALFORMED end
  return option > 0 and option or SOURCE_MAC
end

-- EtherType to hop limit.
local IP6 = "\134\221\96\0\0\0\0" .. string.char(MESSAGE + OPTION, ICMP, HOP_LIMIT)

-- A packet: a message about `target`, of the station with addresses `mac` and `ip`, to
-- the addresses `to_mac` and `to`.
local function make(kind, flags, mac, ip, to_mac, to, target, option)
  local p = packet.resize(packet.allocate(), FRAME)
  local data = p.data
  copy(data, to_mac, 6)
  copy(data + SOURCE_MAC, mac, 6)
  copy(data + 12, IP6, #IP6)
  copy(data + SOURCE, ip, 16)
  copy(data + DESTINATION, to, 16)
  ffi.fill(data + HEADERS, 8)
  data[HEADERS], data[FLAGS] = kind, flags
  copy(data + TARGET, target, 16)
  data[OPTIONS], data[OPTIONS + 1] = option, 1
  copy(data + OPTIONS + 2, mac, 6)
  write16(data + SUM, ip6.checksum(data, ICMP, MESSAGE + OPTION))
  return p
end

--- A packet that asks for `target`, in the name of the addresses `mac` and `ip` (bytes,
--- as strings or pointers): to the target's group of solicited nodes (RFC 4291, section
--- 2.7.1) and its Ethernet address (RFC 2464, section 7).
function nd.solicitation(mac, ip, target)
  local last = ffi.string(ffi.cast("const uint8_t *", target) + 13, 3)
  return make(SOLICITATION, 0, mac, ip, "\51\51\255" .. last, GROUP .. last, target,
    SOURCE_OPTION)
end

--- A packet that answers the solicitation at `asked`: that `ip` is at `mac`. `flags`
--- may be ROUTER and OVERRIDE. One from nobody is answered to all (section 7.2.4).
function nd.advertisement(mac, ip, asked, flags)
  if is_from_nobody(asked) then
    return make(ADVERTISEMENT, flags, mac, ip, ALL_NODES_MAC, ALL_NODES, ip,
      TARGET_OPTION)
  end
  return make(ADVERTISEMENT, flags + SOLICITED, mac, ip, asked + SOURCE_MAC,
    asked + SOURCE, ip, TARGET_OPTION)
end

return nd
