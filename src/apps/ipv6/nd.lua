-- SPDX-License-Identifier: Apache-2.0
-- Neighbour discovery (RFC 4861) for the apps of this folder: solicitations and
-- advertisements with one option, and how to read them. Host code: a few packets a
-- second.

local ffi = require("ffi")
local bytes = require("apps.ipv6.bytes")
local packet = require("core.packet")
local wire = require("net.wire.bytes")

local C = ffi.C
local HEADERS, ICMP, HOP_LIMIT = bytes.HEADERS, bytes.ICMP, 255
local MESSAGE = 24 -- bytes of a solicitation or an advertisement, without options
local OPTION = 8 -- bytes of an Ethernet address as an option
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

-- The same where there is more than that option: those of other kinds don't count.
local function find_option(p, size, kind)
  local options, at, found = p.data + HEADERS + MESSAGE, 0, 0
  local left = size - MESSAGE
  while at < left do
    local length = at + OPTION <= left and options[at + 1] * OPTION or 0
    if length == 0 or at + length > left then return 0 end
    local type = options[at]
    if type == 1 or type == 2 then
      if found > 0 or type ~= kind then return 0 end
      found = HEADERS + MESSAGE + at + 2
    end
    at = at + length
  end
  return found
end

--- Where the address is in its one option, if that is the link-layer address of the
--- kind (1 or 2); 0: it isn't.
function nd.option(p, size, kind)
  local option = p.data + HEADERS + MESSAGE
  if size == MESSAGE + OPTION and option[0] == kind and option[1] == 1 then
    return HEADERS + MESSAGE + 2
  end
  return (find_option(p, size, kind))
end

-- EtherType to hop limit; the message up to its target; the option up to its address.
local IP6 = "\134\221\96\0\0\0\0" .. string.char(MESSAGE + OPTION, ICMP, HOP_LIMIT)
local ADVERTISED = string.char(nd.ADVERTISEMENT) .. "\0\0\0"
local SOLICITED, ROUTER = 0x40, 0x80 -- flags
local SOLICITATION = string.char(nd.SOLICITATION) .. ("\0"):rep(7)
local SOURCE_MAC, TARGET_MAC = "\1\1", "\2\1"
local GROUP = "\255\2" .. ("\0"):rep(9) .. "\1\255"

-- A message about `target`, with the address `mac` as its option, in a frame to `to`
-- and `to_mac`. Put together from bytes: whoever asks may ask often.
local function make(start, to_mac, to, mac, ip, target, option)
  local p = packet.resize(packet.allocate(), HEADERS + MESSAGE + OPTION)
  local data = p.data
  ffi.copy(data, to_mac, 6)
  ffi.copy(data + 6, mac, 6)
  ffi.copy(data + 12, IP6, 10)
  ffi.copy(data + 22, ip, 16)
  ffi.copy(data + 38, to, 16)
  ffi.copy(data + HEADERS, start, 8)
  ffi.copy(data + TARGET, target, 16)
  ffi.copy(data + TARGET + 16, option, 2)
  ffi.copy(data + TARGET + 18, mac, 6)
  wire.write16(data + HEADERS + 2, bytes.checksum(data, ICMP, MESSAGE + OPTION))
  return p
end

--- A solicitation of `target` by the addresses `mac` and `ip`: to the target's
--- solicited-node group (RFC 4291, section 2.7.1) and its Ethernet address (RFC 2464,
--- section 7).
function nd.solicitation(mac, ip, target)
  local last = ffi.string(ffi.cast("const uint8_t *", target) + 13, 3)
  return make(SOLICITATION, "\51\51\255" .. last, GROUP .. last, mac, ip, target,
    SOURCE_MAC)
end

local ALL_NODES = "\255\2" .. ("\0"):rep(13) .. "\1"
local ALL_NODES_MAC = "\51\51\0\0\0\1"
local NOBODY = ("\0"):rep(16)

--- Does such a frame come from nobody yet: does its sender ask whether an address is
--- taken?
function nd.is_from_nobody(p) return C.memcmp(p.data + 22, NOBODY, 16) == 0 end

--- The answer to a solicitation (a frame): that `ip` is at `mac`. `router` says whether
--- that is a router. One from nobody is answered to all (RFC 4861, section 7.2.4).
function nd.advertisement(mac, ip, solicitation, router)
  local from, flags = solicitation.data, router and ROUTER or 0
  if nd.is_from_nobody(solicitation) then
    return make(ADVERTISED .. string.char(flags, 0, 0, 0), ALL_NODES_MAC, ALL_NODES,
      mac, ip, ip, TARGET_MAC)
  end
  return make(ADVERTISED .. string.char(flags + SOLICITED, 0, 0, 0), from + 6,
    from + 22, mac, ip, ip, TARGET_MAC)
end

return nd
