-- SPDX-License-Identifier: Apache-2.0
-- Fragmenter: cuts IPv6 packets that are longer than an MTU into fragments (RFC 8200,
-- section 4.5); the MTU is fixed, or what routers on the path report (apps.ipv6.pmtu).
-- What isn't IPv6, or is short enough, passes.

local C = require("core.native")
local cut = require("net.fragment.cut")
local ip6 = require("net.ip.ip6")
local counter = require("core.counter")
local fragmenter = require("lib.fragmenter")
local loops = require("net.ip.loops")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local pmtu = require("apps.ipv6.pmtu")

local band = bit.band
local nreadable, transmit = link.nreadable, link.transmit

local ETHERNET, HEADERS = ip6.ETHERNET, ip6.HEADERS

local fragment = fragmenter.module(0x42424242)

local Fragmenter = {
  needs_packets = true, tick_seconds = 0.2,
  shm = {
    ["out-ipv6-frag"] = {counter},
    ["out-ipv6-frag-not"] = {counter},
    ["ipv6-pmtud-ptb-received"] = {counter},
    ["ipv6-pmtud-ptb-valid"] = {counter},
    ["ipv6-pmtud-ptb-invalid-csum"] = {counter},
    ["ipv6-pmtud-ptb-invalid"] = {counter},
    ["drop-ipv6-frag-invalid-length"] = {counter},
  },
}
Fragmenter.__index = Fragmenter
fragment.Fragmenter = Fragmenter

local ARGUMENTS = {
  mtu = {required = true}, pmtud = {default = false}, pmtu_timeout = {default = 600},
  pmtu_local_addresses = {default = {}},
}

--- Fragmenter{mtu=, pmtud=, pmtu_timeout=, pmtu_local_addresses=}: the README tells.
function Fragmenter:new(arg)
  local o = lib.parse(arg, ARGUMENTS)
  fragmenter.prepare(o, fragment, "ipv6", ip6.LEAST_MTU, 0xffffffff)
  if o.pmtud then
    o.paths = pmtu.new(o.pmtu_timeout, o.pmtu_local_addresses)
    o.is_time_to_expire = lib.throttle(o.pmtu_timeout / 10)
  end
  return setmetatable(o, Fragmenter)
end

--- What routers have reported stays, for the new timeout.
function Fragmenter.reconfig_keeps(fresh, running)
  local known, new = running.paths, fresh.paths
  if known and new then known.timeout, known.own = new.timeout, new.own end
  return {"alarm", "next_fragment_id", known and new and "paths" or nil}
end

-- Send `p`, which ends with its payload, in parts, in packets of at most `mtu` bytes.
local function send_parts(self, output, p, mtu)
  self.next_fragment_id = band(self.next_fragment_id + 1, 0xffffffff)
  local rest = self.rest
  local n = cut.ip6(p, ETHERNET, mtu, self.next_fragment_id, C.PACKET_HEADROOM, rest)
  fragmenter.send(self, output, p, n)
end

-- An IPv6 packet longer than the MTU of the path, maybe.
local function send_long(self, output, p, payload)
  local mtu = self.paths and self.paths:to(p.data + 38, self.mtu) or self.mtu
  if p.length > HEADERS + payload then p.length = HEADERS + payload end
  if p.length <= mtu + ETHERNET then
    counter.add(self.shm["out-ipv6-frag-not"])
    transmit(output, p)
  else
    send_parts(self, output, p, mtu)
  end
end

-- With path MTUs, what is longer than the least of them is looked up.
local function is_long(self, _, length)
  return length > (self.paths and ip6.LEAST_MTU or self.mtu) + ETHERNET
end

local pass = loops.of_family("ipv6", "out-ipv6-frag-not",
  "drop-ipv6-frag-invalid-length", is_long,
  function (self, output, p, _, total)
    send_long(self, output, p, total - (HEADERS - ETHERNET))
  end)

-- Reports for us end here, the rest goes on.
local listen = loops.take_or_pass(function (self, p)
  local verdict = self.paths:read(p, C.pg_now())
  if not verdict then return false end
  counter.add(self.shm["ipv6-pmtud-ptb-received"])
  counter.add(self.shm["ipv6-pmtud-ptb-" .. verdict])
  packet.free(p)
  return true
end)

function Fragmenter:push()
  local input, output = self.input, self.output
  if input.input then pass(self) end
  if self.paths and input.south then
    listen(self, input.south, output.north, nil, nreadable(input.south))
  end
end

function Fragmenter:tick()
  self.alarm:check()
  if self.paths and self.is_time_to_expire() then self.paths:expire(C.pg_now()) end
end

return fragment
