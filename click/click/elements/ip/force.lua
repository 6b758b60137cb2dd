-- SPDX-License-Identifier: Apache-2.0
-- ForceIP, ForceTCP, ForceUDP and ForceICMP make valid headers of any bytes, to try how
-- others bear them. Behind ForceIP the IP header is noted.

local bit = require("bit")
local C = require("core.declare")("net/checksum/checksum.h")
local element = require("click.element")
local ffi = require("ffi")
local ip_header = require("click.net.ip_header")
local named = require("click.classification.ip.named")
local note = require("click.note")
local wire = require("click.net.wire")

local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift
local swap16, random = wire.swap16, math.random
local halves_t = ffi.typeof("uint16_t *")
local MINIMAL, TCP, UDP = 20, 6, 17
local TCP_OFFSET, TCP_FLAGS, UDP_HEADER, ICMP_HEADER = 12, 13, 8, 8
local LOWEST_PORTS = 1023 -- of what is written by chance

-- ForceIP ----------------------------------------------------------------------------

local ForceIP = element.define{
  name = "ForceIP", summary = "makes IP headers of the first bytes",
  division = "any", reads = {}, drops = {"too short"},
  notes = "Version, lengths and checksum are set, and in seven of eight packets there "
    .. "is no fragment. The header's length stays as it is if it can be.",
}

function ForceIP:configure() self.n = 0 end

function ForceIP:process(p)
  local n, ip = p.length, p.data
  if n < MINIMAL then return nil, 1 end
  local header = lshift(band(ip[0], 15), 2)
  if header < MINIMAL or header > n then header = math.min(band(n, -4), 60) end
  local halves = ffi.cast(halves_t, ip)
  ip[0] = bor(0x40, rshift(header, 2))
  halves[1] = swap16(math.min(n, 0xffff))
  if self.n % 8 ~= 1 then halves[3] = 0 end
  self.n = self.n + 1
  halves[5] = 0
  halves[5] = C.pg_checksum_word(ip, header)
  wire.barrier()
  p.note16[note.NETWORK_HEADER] = p.data_off
  p.note16[note.TRANSPORT_HEADER] = p.data_off + header
  return p
end

-- What the others have in common: write(self, l4, size, ip) is called for `size` bytes
-- behind the IP header, `least` or more.
local function define(class, least, write)
  local name = class.name
  class.division, class.reads, class.drops = "any", {"NETWORK_HEADER"}, {"bad lengths"}
  class.lengthens = 0
  local defined = element.define(class)
  function defined:process(p)
    local ip, header, available = ip_header.whole(p)
    local size = ip and swap16(ffi.cast(halves_t, ip)[1]) - header
    if not ip or size < least or header + size > available then
      if not self.told then self:say("%s: bad lengths", name) end
      self.told = true
      return nil, 1
    end
    write(self, ip + header, size, ip)
    wire.barrier()
    return p
  end
  return defined
end

local ONCE = "It prints a line about the first packet that it drops, not about each."

-- ForceTCP ---------------------------------------------------------------------------

local ForceTCP = define({
  name = "ForceTCP", summary = "makes TCP headers behind IP headers",
  arguments = {
    {"DPORT", "ip_port", default = 0, protocol = "tcp"},
    {"RANDOM_DPORT", "bool", default = false},
    {"FLAGS", "int", default = -1, max = 255},
  },
  notes = "The checksum is set, and a wrong length of the header. DPORT above 0 is the "
    .. "new destination port; with RANDOM_DPORT true that is 80 in two of eight "
    .. "packets, and any below 1024 in one. FLAGS: -1 leaves the flags.",
  differs = ONCE,
}, MINIMAL, function (self, tcp, size, ip)
  local ports = ffi.cast(halves_t, tcp)
  local offset = lshift(rshift(tcp[TCP_OFFSET], 4), 2)
  if offset < MINIMAL or offset > size then
    local words = rshift(random(MINIMAL, math.min(size, 60)), 2)
    tcp[TCP_OFFSET] = bor(lshift(words, 4), band(tcp[TCP_OFFSET], 15))
  end
  if self.flags >= 0 then tcp[TCP_FLAGS] = self.flags end
  local turn = self.n % 8
  if self.port > 0 then
    ports[1] = swap16(self.port)
  elseif self.random and turn < 2 then
    ports[1] = swap16(80)
  elseif self.random and turn == 3 then
    ports[1] = swap16(random(0, LOWEST_PORTS))
  end
  self.n = self.n + 1
  C.pg_ip4_l4_set(ip, tcp, size, TCP)
end)

function ForceTCP:configure(a)
  self.port, self.random, self.flags, self.n = a.DPORT, a.RANDOM_DPORT, a.FLAGS, 0
end

-- ForceUDP ---------------------------------------------------------------------------

local ForceUDP = define({
  name = "ForceUDP", summary = "makes UDP headers behind IP headers",
  arguments = {
    {"DPORT", "argument", default = "-1"},
    {"CHECKLENGTH", "bool", default = true, keyword = true},
  },
  notes = "Length and checksum are set, and the destination port, unless DPORT is -1.",
  differs = ONCE .. " CHECKLENGTH false changes nothing: what is too short for a "
    .. "header is dropped.",
}, UDP_HEADER, function (self, udp, size, ip)
  local halves = ffi.cast(halves_t, udp)
  if self.port then halves[1] = swap16(self.port) end
  halves[2] = swap16(size)
  C.pg_ip4_l4_set(ip, udp, size, UDP)
end)

local arguments = require("click.arguments")
local PORT = {"DPORT", "ip_port", protocol = "udp"}

function ForceUDP:configure(a)
  if a.DPORT == "-1" then return end
  local problem
  self.port, problem = arguments.value(a.DPORT, PORT, self)
  if not self.port then return self:error("DPORT: %s", problem) end
end

-- ForceICMP --------------------------------------------------------------------------

local ForceICMP = define({
  name = "ForceICMP", summary = "sets ICMP's type, code and checksum",
  arguments = {
    {"TYPE", "icmp_type", required = true}, {"CODE", "word", required = true},
  },
  differs = ONCE,
}, ICMP_HEADER, function (self, icmp, size)
  icmp[0], icmp[1] = self.kind, self.code
  local halves = ffi.cast(halves_t, icmp)
  halves[1] = 0
  halves[1] = C.pg_checksum_word(icmp, size)
end)

function ForceICMP:configure(a)
  self.kind, self.code = a.TYPE, named.icmp_code(a.TYPE, a.CODE)
  if not self.code then return self:error("argument 2 takes ICMP code") end
end

return {ForceIP, ForceTCP, ForceUDP, ForceICMP}
