-- SPDX-License-Identifier: Apache-2.0
-- Apps of Snabb's `packetblaster lwaftr` (from a checkout): B4Gen and InetGen send UDP
-- for softwires and count what comes back, Interleave merges the two. They send no more
-- than their links have room for, so that a file (whose rate is 1/0) has every packet.

local ffi = require("ffi")
local bytes = require("net.wire.bytes")
local checksum = require("net.checksum.checksum")
local engine = require("core.app")
local ether_type = require("net.wire.ether_type")
local failure = require("core.failure")
local ipv4 = require("lib.protocol.ipv4")
local ipv6 = require("lib.protocol.ipv6")
local link = require("core.link")
local packet = require("core.packet")
local token_bucket = require("net.rate.token_bucket")

local read16, write16, write32 = bytes.read16, bytes.write16, bytes.write32

local ETHERNET, IP4, IP6, UDP, TAG = 14, 20, 40, 8, 8 -- bytes
local CRC, LEAST_FRAME = 4, 64 -- of a frame on the wire (IEEE 802.3)
local LONGEST_FRAME = packet.max_payload - IP6 + CRC
local MAGIC, PEER_PORT = 0xaffeface, 12345
local TAGGED = ETHERNET + IP4 + UDP -- where the magic number and the packet's are
local u32 = ffi.typeof("uint32_t *")

-- Both meet in one link behind Interleave, which has room for half of each.
local SHARE = 2

local COMMON = {
  sizes = {required = true}, rate = {required = true}, count = {default = 1},
  single_pass = {default = false}, b4_ipv4 = {required = true},
  b4_port = {required = true}, public_ipv4 = {required = true},
  frame_overhead = {default = 0},
}

local function address(protocol, text)
  local found, err = protocol:pton(text)
  return found or failure.usage("packetblaster lwaftr: %s", err)
end

-- Lengths of packets in Snabb: of frames without the check sequence, and the tag that
-- is added later.
local function lengths(conf)
  local list = {}
  for i, size in ipairs(conf.sizes) do
    if size < LEAST_FRAME or size > LONGEST_FRAME then
      failure.usage("packetblaster lwaftr: frames have %d to %d bytes, not %s",
        LEAST_FRAME, LONGEST_FRAME, tostring(size))
    end
    list[i] = size - CRC - conf.frame_overhead
  end
  if #list == 0 then failure.usage("packetblaster lwaftr: give a size of frames") end
  return list
end

-- IPv4 and UDP at `p`, but for lengths, checksum, and the softwire's end.
local function put_udp(p, kind, conf)
  p[0], p[8], p[9] = 0x45, 15, 17 -- version and header length, TTL, UDP
  ffi.copy(p + kind.peer_address, address(ipv4, conf.public_ipv4), 4)
  write16(p + IP4 + kind.peer_port, PEER_PORT)
  ffi.cast(u32, p + IP4 + UDP)[0] = MAGIC
end

-- Let the packets be those of the first softwire.
local function restart(self)
  local p, kind, conf = self.frame + self.ip4, self.kind, self.conf
  ffi.copy(p + kind.softwire_address, address(ipv4, conf.b4_ipv4), 4)
  write16(p + IP4 + kind.softwire_port, conf.b4_port)
  if kind.tunnel then
    ffi.copy(self.frame + ETHERNET + 8, address(ipv6, conf.b4_ipv6), 16)
  end
  self.softwire = 0
end

-- Add one to the number of `size` bytes at `p`.
local function increment(p, size)
  for i = size - 1, 0, -1 do
    p[i] = (p[i] + 1) % 256
    if p[i] ~= 0 then return end
  end
end

-- Go on to the next softwire: the next address of the B4, and the next ports.
local function next_softwire(self)
  local p, kind = self.frame + self.ip4, self.kind
  if kind.tunnel then increment(self.frame + ETHERNET + 8, 16) end
  local port = read16(p + IP4 + kind.softwire_port) + self.conf.b4_port
  if port > 0xffff then
    increment(p + kind.softwire_address, 4)
    port = self.conf.b4_port
  end
  write16(p + IP4 + kind.softwire_port, port)
  self.softwire = self.softwire + 1
  if self.softwire < self.conf.count then return end
  if self.conf.single_pass then
    print(("generated %d packets for each of %d softwires"):format(#self.lengths,
      self.conf.count))
    self.stopping = true
  else
    restart(self)
  end
end

-- The packet of the softwire with the next length.
local function make(self)
  local p, length = self.frame + self.ip4, self.lengths[self.next_length]
  local size = length - ETHERNET
  if self.kind.tunnel then write16(self.frame + ETHERNET + 4, size) end
  write16(p + 2, size)
  write16(p + 10, 0)
  write16(p + 10, checksum.of(p, IP4))
  write16(p + IP4 + 4, size - IP4)
  ffi.cast(u32, p + IP4 + UDP)[1] = self.tx_packet_number
  self.tx_packet_number = self.tx_packet_number + 1
  return packet.from_pointer(self.frame, length + self.ip4 - ETHERNET)
end

local function send(self, output, n)
  for _ = 1, n do
    link.transmit(output, make(self))
    self.next_length = self.next_length + 1
    if self.next_length > #self.lengths then
      self.next_length = 1
      next_softwire(self)
      if self.stopping then return end
    end
  end
end

-- How many packets the rate (millions a second) and the link let it send now.
local function allowed(self, output)
  local room, bucket = math.floor(link.nwritable(output) / SHARE), self.bucket
  if not bucket then return room end
  bucket:refill(engine.now())
  local n = math.min(room, math.floor(bucket.n))
  bucket:remove(n)
  return n
end

-- Count a packet that came back, and by its number those that didn't.
local function count(self, p)
  local kind, at = self.kind, TAGGED + self.kind.came_with
  if p.length < ETHERNET or read16(p.data + 12) ~= kind.comes_as then return end
  self.rx_packets, self.rx_bytes = self.rx_packets + 1, self.rx_bytes + p.length
  if p.length < at + TAG then return end
  local tag = ffi.cast(u32, p.data + at)
  if tag[0] ~= MAGIC then return end
  local last = self.last_rx_packet_number
  if last and last > 0 then
    self.lost_packets = self.lost_packets + tag[1] - last - 1
  end
  self.last_rx_packet_number = tag[1]
end

local function receive(self, input)
  for _ = 1, input and link.nreadable(input) or 0 do
    local p = link.receive(input)
    count(self, p)
    packet.free(p)
  end
end

-- A line a second on what came back.
local function tell(self)
  local now = engine.now()
  self.period_start = self.period_start or now
  local elapsed = now - self.period_start
  if elapsed <= 1 then return end
  local all = math.max(1, self.rx_packets + self.lost_packets)
  print(("%s rx: %.6f MPPS, %.6f Gbps, lost %.3f%%"):format(self.kind.comes,
    self.rx_packets / elapsed / 1e6, self.rx_bytes * 8 / 1e9 / elapsed,
    self.lost_packets / all * 100))
  self.period_start = now
  self.rx_packets, self.rx_bytes, self.lost_packets = 0, 0, 0
end

-- For millions of packets a second, those of a second at most, or one; nil: without a
-- limit.
local function bucket_of(rate)
  if rate == math.huge then return nil end
  return token_bucket.new(rate * 1e6, math.max(1, rate * 1e6))
end

local function generator(kind, config)
  local Generator = {config = config}
  Generator.__index = Generator

  function Generator:new(conf)
    local ip4 = ETHERNET + (kind.tunnel and IP6 or 0)
    local o = setmetatable({
      kind = kind, conf = conf, ip4 = ip4, lengths = lengths(conf),
      frame = ffi.new("uint8_t[?]", packet.max_payload), next_length = 1,
      bucket = bucket_of(conf.rate), tx_packet_number = 0,
      rx_packets = 0, rx_bytes = 0, lost_packets = 0,
    }, self)
    write16(o.frame + 12, kind.tunnel and ether_type.IP6 or ether_type.IP4)
    if kind.tunnel then
      local p = o.frame + ETHERNET
      write32(p, 0x60100000) -- version 6, traffic class 1
      p[6], p[7] = 4, 255 -- IPv4 within; hop limit
      ffi.copy(p + 24, address(ipv6, conf.aftr_ipv6), 16)
    end
    put_udp(o.frame + ip4, kind, conf)
    restart(o)
    return o
  end

  --- Have all softwires had their packets (`single_pass`)?
  function Generator:done() return self.stopping end

  function Generator:pull()
    if self.stopping then return end
    receive(self, self.input.input)
    tell(self)
    local output = self.output.output
    send(self, output, allowed(self, output))
  end

  return Generator
end

local function with(more)
  for key, value in pairs(COMMON) do more[key] = value end
  return more
end

local M = {}

--- Sends what softwires' B4s send: IPv4 in IPv6, from the softwire to the internet.
--- `sizes` are those of Ethernet frames of the packets within, `rate` is in millions of
--- packets a second.
M.B4Gen = generator({
  tunnel = true, softwire_address = 12, peer_address = 16, softwire_port = 0,
  peer_port = 2, comes = "v4", comes_as = ether_type.IP4, came_with = 0,
}, with{b4_ipv6 = {required = true}, aftr_ipv6 = {required = true}})

--- Sends what comes from the internet for them: IPv4.
M.InetGen = generator({
  softwire_address = 16, peer_address = 12, softwire_port = 2, peer_port = 0,
  comes = "v6", comes_as = ether_type.IP6, came_with = IP6,
}, with{})

local Interleave = {}
Interleave.__index = Interleave
M.Interleave = Interleave

function Interleave:new() return setmetatable({}, self) end

--- Send a packet of each input in turn, as many as there is room for.
function Interleave:push()
  local output, inputs = self.output.output, self.input
  local some = true
  while some do
    some = false
    for i = 1, #inputs do
      if not link.empty(inputs[i]) and not link.full(output) then
        link.transmit(output, link.receive(inputs[i]))
        some = true
      end
    end
  end
end

return M
