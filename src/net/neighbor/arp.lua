-- SPDX-License-Identifier: Apache-2.0
-- ARP messages about IPv4 in Ethernet frames (RFC 826), read and written in memory that
-- is there: at least FRAME bytes.

local arguments = require("core.lib.arguments")
local ether_type = require("net.wire.ether_type")
local failure = require("core.failure")
local ffi = require("ffi")
local wire = require("net.wire.bytes")

local copy = ffi.copy
local read16, write16 = wire.read16, wire.write16

local arp = {
  FRAME = 42, -- bytes, with Ethernet's header
  SENDER_MAC = 22, SENDER_IP = 28, TARGET_MAC = 32, TARGET_IP = 38, -- offsets
  REQUEST = 1, REPLY = 2,
}

local FRAME, SENDER_MAC, SENDER_IP = arp.FRAME, arp.SENDER_MAC, arp.SENDER_IP
local TARGET_MAC, TARGET_IP = arp.TARGET_MAC, arp.TARGET_IP
local TYPE, HARDWARE, PROTOCOL, SIZES, OPERATION = 12, 14, 16, 18, 20
local ARP, ETHERNET, IP4, SIX_AND_FOUR = ether_type.ARP, 1, ether_type.IP4, 0x0604

local bytes_t = ffi.typeof("const uint8_t *")

--- Is the MAC address (6 bytes, a string or a pointer) a group's? No station has one.
function arp.is_group(mac) return ffi.cast(bytes_t, mac)[0] % 2 == 1 end

--- Raise a sentence if the MAC address can't be the own one of the app of that name.
function arp.check_own(name, mac)
  arguments.check(name .. ": its own MAC address", "mac", mac)
  if not arp.is_group(mac) then return end
  local bytes = ffi.string(ffi.cast(bytes_t, mac), 6)
  failure.usage("%s's own MAC address can't be %02x:%02x:%02x:%02x:%02x:%02x, which is "
    .. "a group's; give a station's, whose first byte is even", name, bytes:byte(1, 6))
end

--- The operation of the message in the frame of `length` bytes at `data` (uint8_t *);
--- nil if it isn't one, or says that its sender's address is a group's, which routers
--- may not believe (RFC 1812, section 3.3.2); Snabb's app does, so with `any_sender`.
function arp.operation(data, length, any_sender)
  if length < FRAME or read16(data + TYPE) ~= ARP or read16(data + HARDWARE) ~= ETHERNET
    or read16(data + PROTOCOL) ~= IP4 or read16(data + SIZES) ~= SIX_AND_FOUR
    or not any_sender and data[SENDER_MAC] % 2 == 1 then
    return nil
  end
  return read16(data + OPERATION)
end

--- Write a message of the station with addresses `mac` and `ip`, in a frame to the MAC
--- address `to`, about `target_mac` and `target_ip` (strings or pointers, to other
--- memory than the frame's).
function arp.write(data, operation, mac, ip, to, target_mac, target_ip)
  write16(data + TYPE, ARP)
  write16(data + HARDWARE, ETHERNET)
  write16(data + PROTOCOL, IP4)
  write16(data + SIZES, SIX_AND_FOUR)
  write16(data + OPERATION, operation)
  copy(data, to, 6)
  copy(data + 6, mac, 6)
  copy(data + SENDER_MAC, mac, 6)
  copy(data + SENDER_IP, ip, 4)
  copy(data + TARGET_MAC, target_mac, 6)
  copy(data + TARGET_IP, target_ip, 4)
end

local asked = ffi.new("uint8_t[4]")

--- Make the request its own answer, to who sent it: what it asks for is at `mac`.
function arp.answer(data, mac)
  write16(data + OPERATION, arp.REPLY)
  copy(asked, data + TARGET_IP, 4)
  copy(data, data + SENDER_MAC, 6)
  copy(data + TARGET_MAC, data + SENDER_MAC, 6)
  copy(data + TARGET_IP, data + SENDER_IP, 4)
  copy(data + 6, mac, 6)
  copy(data + SENDER_MAC, mac, 6)
  copy(data + SENDER_IP, asked, 4)
end

return arp
