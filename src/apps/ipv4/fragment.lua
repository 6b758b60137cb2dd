-- SPDX-License-Identifier: Apache-2.0
-- Fragmenter: cuts IPv4 packets that are longer than an MTU into fragments (RFC 791,
-- section 3.2). What isn't IPv4, or is short enough, passes.

local ffi = require("ffi")
local ip4 = require("net.ip.ip4")
local counter = require("core.counter")
local failure = require("core.failure")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local rate_alarm = require("lib.rate_alarm")
local wire = require("net.wire.bytes")

local band, bor, rshift = bit.band, bit.bor, bit.rshift
local nreadable, receive, transmit = link.nreadable, link.receive, link.transmit
local read16, write16 = wire.read16, wire.write16

local ETHERNET = ip4.ETHERNET
local DONT_FRAGMENT, MORE, OFFSET = 0x4000, 0x2000, 0x1fff
local SHORTEST = ETHERNET + 20
-- "Every internet module must be able to forward a datagram of 68 octets": RFC 791.
local LEAST_MTU, FRAGMENTS_A_SECOND = 68, 10000

local fragment = {}

--- The first packet's fragments have the id after this one, if it is a number.
fragment.deterministic_first_fragment_id = false

--- Let ids be the same in each run, for tests.
function fragment.use_deterministic_first_fragment_id()
  fragment.deterministic_first_fragment_id = 0x4242
end

local Fragmenter = {
  needs_packets = true,
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
  local mtu = tonumber(o.mtu)
  if not mtu or mtu % 1 ~= 0 or mtu < LEAST_MTU or mtu > 65535 then
    failure.usage("the Fragmenter's mtu must be a whole number from %d to 65535, not "
      .. "'%s'", LEAST_MTU, tostring(o.mtu))
  end
  o.mtu = mtu
  o.next_fragment_id = fragment.deterministic_first_fragment_id
    or math.random(0, 0xffff)
  o.alarm = rate_alarm.new(o, "out-ipv4-frag", FRAGMENTS_A_SECOND,
    "outgoing-ipv4-fragments", "Outgoing IPv4 fragments over N fragments/s",
    "More than 10,000 outgoing IPv4 fragments per second")
  return setmetatable(o, Fragmenter)
end

-- The identification of the next packet that is cut.
local function fresh_id(self)
  self.next_fragment_id = band(self.next_fragment_id + 1, 0xffff)
  return self.next_fragment_id
end

-- Put "no operation" in the place of options that only the first fragment has (RFC 791,
-- section 3.1: those without the "copied" flag).
local COPIED, END, NO_OPERATION = 0x80, 0, 1
local function blank_options(ip, header)
  local i = 20
  while i < header and ip[i] ~= END do
    local size = 1
    if ip[i] ~= NO_OPERATION then
      size = i + 1 < header and ip[i + 1] or 0
      if size < 2 or i + size > header then return end
    end
    if ip[i] < COPIED then ffi.fill(ip + i, size, NO_OPERATION) end
    i = i + size
  end
end

-- A fragment of `p`: `size` bytes of its payload from `first` on.
local function cut(p, headers, first, size, id, flags_and_offset)
  local out = packet.allocate()
  out.length = headers + size
  local data = out.data
  ffi.copy(data, p.data, headers)
  ffi.copy(data + headers, p.data + headers + first, size)
  local ip = data + ETHERNET
  if first > 0 and headers > SHORTEST then blank_options(ip, headers - ETHERNET) end
  write16(ip + 2, headers - ETHERNET + size)
  write16(ip + 4, id)
  write16(ip + 6, flags_and_offset)
  ip4.set_checksum(ip, headers - ETHERNET)
  return out
end

-- Send `p`, whose headers are `headers` bytes long and whose length is right, in parts.
local function send_parts(self, output, p, headers)
  local ip = p.data + ETHERNET
  local id, flags = read16(ip + 4), read16(ip + 6)
  local is_part = band(flags, bor(MORE, OFFSET)) ~= 0
  if not is_part then id = fresh_id(self) end
  local payload = p.length - headers
  local room = self.mtu + ETHERNET - headers
  room = room - room % 8
  local base, first = band(flags, OFFSET), 0
  flags = band(flags, 0xe000)
  local sent = self.shm["out-ipv4-frag"]
  while first < payload do
    local size = math.min(room, payload - first)
    -- The last part may fill the rest of the MTU: it need be no multiple of 8.
    if payload - first <= self.mtu + ETHERNET - headers then size = payload - first end
    local more = first + size < payload and MORE or 0
    transmit(output, cut(p, headers, first, size, id,
      bor(flags, more, base + rshift(first, 3))))
    counter.add(sent)
    first = first + size
  end
end

-- An IPv4 packet longer than the MTU.
local function send_long(self, output, p, headers, total)
  if total <= self.mtu then -- what makes it long isn't IP's
    p.length = ETHERNET + total
    counter.add(self.shm["out-ipv4-frag-not"])
    transmit(output, p)
    return
  end
  if band(read16(p.data + ETHERNET + 6), DONT_FRAGMENT) ~= 0 then
    counter.add(self.shm["drop-ipv4-frag-unfragmentable"])
  else
    p.length = ETHERNET + total
    send_parts(self, output, p, headers)
  end
  packet.free(p)
end

local function pass(self, input, output, n)
  local longest = self.mtu + ETHERNET
  local unneeded = self.shm["out-ipv4-frag-not"]
  for _ = 1, n do
    local p = receive(input)
    local data, length = p.data, p.length
    if length < ETHERNET or data[12] ~= 8 or data[13] ~= 0 then
      counter.add(unneeded)
      transmit(output, p)
    else
      local headers, total = ip4.lengths(data, length)
      if headers == 0 then
        counter.add(self.shm["drop-ipv4-frag-invalid-length"])
        packet.free(p)
      elseif length <= longest then
        counter.add(unneeded)
        transmit(output, p)
      else
        send_long(self, output, p, headers, total)
      end
    end
  end
end

function Fragmenter:push()
  local input = self.input.input
  pass(self, input, self.output.output, nreadable(input))
end

function Fragmenter:tick()
  self.alarm:check()
end

return fragment
