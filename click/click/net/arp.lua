-- SPDX-License-Identifier: Apache-2.0
-- ARP messages (net.neighbor.arp) as Click's packets: with annotations, and IPv4
-- addresses as words.

local codec = require("net.neighbor.arp")
local ffi = require("ffi")
local note = require("click.note")

local arp = {
  FRAME = codec.FRAME, SENDER_MAC = codec.SENDER_MAC, SENDER_IP = codec.SENDER_IP,
  TARGET_MAC = codec.TARGET_MAC, TARGET_IP = codec.TARGET_IP,
  REQUEST = codec.REQUEST, REPLY = codec.REPLY,
  operation = codec.operation, is_group = codec.is_group,
}

local ETHERNET = 14 -- bytes
local NOBODY = ffi.new("uint8_t[6]")
local ip, target_ip = ffi.new("int32_t[1]"), ffi.new("int32_t[1]")

local function begin(p)
  p.length = arp.FRAME
  local n, at = p.note16, p.data_off
  n[note.MAC_HEADER], n[note.NETWORK_HEADER] = at, at + ETHERNET
end

--- Make the packet a reply: the address `word` is at the Ethernet address `eth`
--- (bytes). It is for the other two.
function arp.reply(p, eth, word, to_eth, to_word)
  begin(p)
  ip[0], target_ip[0] = word, to_word
  codec.write(p.data, arp.REPLY, eth, ip, to_eth, to_eth, target_ip)
end

--- Make a request its own answer: what it asks for is at `eth` (bytes).
function arp.answer(p, eth)
  begin(p)
  codec.answer(p.data, eth)
end

--- Make the packet a request of `eth` and `word` for the address `target` (words), to
--- the Ethernet address at `to`.
function arp.request(p, eth, word, target, to)
  begin(p)
  ip[0], target_ip[0] = word, target
  codec.write(p.data, arp.REQUEST, eth, ip, to, NOBODY, target_ip)
end

return arp
