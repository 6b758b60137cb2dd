-- SPDX-License-Identifier: Apache-2.0
-- Fragmenter: cuts IPv4 packets that are longer than an MTU into fragments (RFC 791,
-- section 3.2). What isn't IPv4, or is short enough, passes.

local C = require("core.native")
local cut = require("net.fragment.cut")
local ip4 = require("net.ip.ip4")
local counter = require("core.counter")
local fragmenter = require("lib.fragmenter")
local lib = require("core.lib")
local loops = require("net.ip.loops")
local transmit = require("core.link").transmit
local packet = require("core.packet")
local wire = require("net.wire.bytes")

local band, bor = bit.band, bit.bor
local read16, write16 = wire.read16, wire.write16

local ETHERNET = ip4.ETHERNET
local DONT_FRAGMENT, MORE, OFFSET = 0x4000, 0x2000, 0x1fff
-- "Every internet module must be able to forward a datagram of 68 octets": RFC 791.
local LEAST_MTU = 68

local fragment = fragmenter.module(0x4242)

local Fragmenter = {
  needs_packets = true, tick_seconds = 0.2,
  shm = {
    ["out-ipv4-frag"] = {counter},
    ["out-ipv4-frag-not"] = {counter},
    ["drop-ipv4-frag-invalid-length"] = {counter},
    ["drop-ipv4-frag-unfragmentable"] = {counter},
  },
}
Fragmenter.__index = Fragmenter
Fragmenter.reconfig_keeps = {"alarm", "next_fragment_id"}
fragment.Fragmenter = Fragmenter

--- Fragmenter{mtu=}: bytes of the longest packet, without its Ethernet header.
function Fragmenter:new(arg)
  local o = lib.parse(arg, {mtu = {required = true}})
  fragmenter.prepare(o, fragment, "ipv4", LEAST_MTU, 0xffff)
  return setmetatable(o, Fragmenter)
end

-- The identification of the next packet that is cut.
local function fresh_id(self)
  self.next_fragment_id = band(self.next_fragment_id + 1, 0xffff)
  return self.next_fragment_id
end

-- Send `p`, whose length is right, in parts.
local function send_parts(self, output, p)
  local ip, rest = p.data + ETHERNET, self.rest
  local is_part = band(read16(ip + 6), bor(MORE, OFFSET)) ~= 0
  if not is_part then write16(ip + 4, fresh_id(self)) end
  local n = cut.ip4(p, p.data_off + ETHERNET, ETHERNET, self.mtu, false,
    C.PACKET_HEADROOM, rest)
  fragmenter.send(self, output, p, n)
end

-- An IPv4 packet longer than the MTU.
local function send_long(self, output, p, total)
  if total <= self.mtu then -- what makes it long isn't IP's
    p.length = ETHERNET + total
    counter.add(self.shm["out-ipv4-frag-not"])
    transmit(output, p)
    return
  end
  if band(read16(p.data + ETHERNET + 6), DONT_FRAGMENT) ~= 0 then
    counter.add(self.shm["drop-ipv4-frag-unfragmentable"])
    packet.free(p)
  else
    p.length = ETHERNET + total
    send_parts(self, output, p)
  end
end

local function is_long(self, _, length) return length > self.mtu + ETHERNET end

Fragmenter.push = loops.of_family("ipv4", "out-ipv4-frag-not",
  "drop-ipv4-frag-invalid-length", is_long,
  function (self, output, p, _, total) send_long(self, output, p, total) end)

function Fragmenter:tick()
  self.alarm:check()
end

return fragment
