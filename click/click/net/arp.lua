-- SPDX-License-Identifier: Apache-2.0
-- ARP messages about IPv4 in Ethernet frames (RFC 826): where their fields are, and how
-- they are made.

local ether_type = require("net.wire.ether_type")
local ffi = require("ffi")
local note = require("click.note")
local wire = require("click.net.wire")

local arp = {}

--- Bytes of a frame, and offsets of its fields.
arp.FRAME = 42
arp.SENDER_ETH, arp.SENDER_IP, arp.TARGET_ETH, arp.TARGET_IP = 22, 28, 32, 38

--- Operations, as halves.
arp.REQUEST, arp.REPLY = wire.swap16(1), wire.swap16(2)

local HEADER = 14
local TYPE, HARDWARE, PROTOCOL, SIZES, OPERATION = 6, 7, 8, 9, 10 -- halves
local ARP, ETHERNET, IP4, SIX_AND_FOUR =
  wire.swap16(ether_type.ARP), wire.swap16(1),
  wire.swap16(ether_type.IP4), wire.swap16(0x0604)

local bytes_t = ffi.typeof("uint8_t *")
local halves_t, words_t = ffi.typeof("uint16_t *"), ffi.typeof("int32_t *")
local copy, fill = ffi.copy, ffi.fill

--- Is the frame of at least FRAME bytes, given as halves, such a message?
function arp.is(halves, operation)
  return halves[TYPE] == ARP and halves[HARDWARE] == ETHERNET
    and halves[PROTOCOL] == IP4 and halves[OPERATION] == operation
end

local function begin(p, operation)
  p.length = arp.FRAME
  local halves, n, at = ffi.cast(halves_t, p.data), p.note16, p.data_off
  halves[TYPE], halves[HARDWARE], halves[PROTOCOL] = ARP, ETHERNET, IP4
  halves[SIZES], halves[OPERATION] = SIX_AND_FOUR, operation
  n[note.MAC_HEADER], n[note.NETWORK_HEADER] = at, at + HEADER
end

--- Make the packet a reply: the address `ip` (a word) is at the Ethernet address `eth`
--- (bytes). It is for the other two.
function arp.reply(p, eth, ip, to_eth, to_ip)
  begin(p, arp.REPLY)
  local data = p.data
  copy(data, to_eth, 6)
  copy(data + 6, eth, 6)
  copy(data + arp.TARGET_ETH, to_eth, 6) -- which may be the sender's until now
  copy(data + arp.SENDER_ETH, eth, 6)
  ffi.cast(words_t, data + arp.SENDER_IP)[0] = ip
  ffi.cast(words_t, data + arp.TARGET_IP)[0] = to_ip
end

--- Make a request its own answer: what it asks for is at `eth` (bytes).
function arp.answer(p, eth)
  local data = p.data
  local asked = ffi.cast(words_t, data + arp.TARGET_IP)[0]
  local by = ffi.cast(words_t, data + arp.SENDER_IP)[0]
  arp.reply(p, eth, asked, data + arp.SENDER_ETH, by)
end

--- Make the packet a request of `eth` and `ip` for the address `target` (words), to the
--- Ethernet address at `to`.
function arp.request(p, eth, ip, target, to)
  begin(p, arp.REQUEST)
  local data = ffi.cast(bytes_t, p.data)
  copy(data, to, 6)
  copy(data + 6, eth, 6)
  copy(data + arp.SENDER_ETH, eth, 6)
  fill(data + arp.TARGET_ETH, 6)
  ffi.cast(words_t, data + arp.SENDER_IP)[0] = ip
  ffi.cast(words_t, data + arp.TARGET_IP)[0] = target
end

return arp
