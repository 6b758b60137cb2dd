-- SPDX-License-Identifier: Apache-2.0
-- ARP (RFC 826) for a tunnel's own IPv4 address. Host code: a few packets a second.

local ffi = require("ffi")
local packet = require("core.packet")

local arp = {}

local LENGTH, SHORTEST_FRAME = 42, 60 -- bytes
local REQUEST, REPLY = "\0\1", "\0\2"
local ETHERNET_IPV4 = "\8\6\0\1\8\0\6\4" -- EtherType to address lengths
local BROADCAST, NOBODY = ("\255"):rep(6), ("\0"):rep(6)
local PADDING = ("\0"):rep(SHORTEST_FRAME - LENGTH)

-- Put together from bytes: whoever asks may ask often.
local function frame(s, operation, mac, address)
  return packet.from_string((mac or BROADCAST) .. s.mac .. ETHERNET_IPV4 .. operation
    .. s.mac .. s.address .. (mac or NOBODY) .. address .. PADDING)
end

--- A request for the address (4 bytes) in the name of the tunnel with settings `s`.
function arp.request(s, address)
  return frame(s, REQUEST, nil, address)
end

--- What an Ethernet frame says, if it is ARP: a table of `mac` and `address` (bytes)
--- of a neighbour, and `answer`, a packet to send; or nil. `p` stays the caller's.
function arp.read(s, p)
  if p.length < LENGTH then return nil end
  local bytes = ffi.string(p.data, LENGTH)
  if bytes:sub(13, 20) ~= ETHERNET_IPV4 then return nil end
  local operation = bytes:sub(21, 22)
  local mac, address, target = bytes:sub(23, 28), bytes:sub(29, 32), bytes:sub(39, 42)
  if mac:byte(1) % 2 == 1 or address == s.address then return nil end
  local heard = {mac = mac, address = address}
  if operation == REQUEST and target == s.address then
    heard.answer = frame(s, REPLY, mac, address)
  end
  return heard
end

return arp
