-- SPDX-License-Identifier: Apache-2.0
-- TCPFragmenter cuts TCP packets into several, each a segment of its own, so that none
-- is longer than an MTU.

local bit = require("bit")
local bytes = require("net.wire.bytes")
local C = require("core.declare")("net/checksum/checksum.h")
local checksum = require("net.checksum.checksum")
local element = require("click.element")
local ffi = require("ffi")
local ip_header = require("click.net.ip_header")
local note = require("click.note")
local wire = require("click.net.wire")

local band, lshift, rshift = bit.band, bit.lshift, bit.rshift
local read16, write16 = bytes.read16, bytes.write16
local TCP, TCP_HEADER, PROTOCOL, IP_SUM = 6, 20, 9, 10
local IP_FLAGS, FRAGMENT = 6, 0x3f
local SEQUENCE, OFFSET, FLAGS, FIN = 4, 12, 13, 1
local USUAL_MTU, MOST_MTU = 1500, 0xffff

local TCPFragmenter = element.define{
  name = "TCPFragmenter", summary = "cuts TCP packets that are too long into several",
  division = "any", processing = "h/h", emits = true, live = true,
  arguments = {
    {"MTU", "unsigned", default = USUAL_MTU, max = MOST_MTU},
    {"MTU_ANNO", "anno", size = 2, keyword = true},
    {"SW_CHECKSUM", "bool", default = true, keyword = true},
  },
  notes = "The MTU counts from the IP header on; MTU_ANNO holds where it is smaller, "
    .. "and 0 is none. What isn't TCP over IPv4 passes as it is.",
  differs = "FIN is on the last segment alone (Click leaves it on others, too).",
}

function TCPFragmenter:configure(a)
  if a.MTU == 0 and not a.MTU_ANNO then
    return self:error("At least one of MTU and MTU_ANNO must be set")
  end
  self.mtu, self.place = a.MTU, a.MTU_ANNO and note.FIRST + a.MTU_ANNO
  self.fragments, self.cut, self.count = self.fragments or 0, self.cut or 0,
    self.count or 0
end

local function mtu_of(self, p)
  local mtu = self.mtu
  if not self.place then return mtu end
  local noted = ffi.cast("uint16_t *", p.note8 + self.place)[0]
  return noted ~= 0 and (mtu == 0 or mtu > noted) and noted or mtu
end

-- The lengths of a TCP packet's IP header, both headers, and text; nil if it isn't one.
local function lengths_of(p)
  local ip, header, available = ip_header.whole(p)
  if not ip or ip[PROTOCOL] ~= TCP then return nil end
  if band(ip[IP_FLAGS], FRAGMENT) ~= 0 or ip[IP_FLAGS + 1] ~= 0 then return nil end
  local total = read16(ip + 2)
  if total > available or total < header + TCP_HEADER then return nil end
  local tcp = lshift(rshift(ip[header + OFFSET], 4), 2)
  if tcp < TCP_HEADER or header + tcp > total then return nil end
  return header, header + tcp, total - header - tcp
end

-- Make the packet, whose text begins with the segment's, a segment of its own.
local function finish(p, header, headers, size, offset, is_last)
  local ip = ip_header.whole(p)
  local tcp = ip + header
  p.length = tonumber(ip - p.data) + headers + size
  write16(ip + 2, headers + size)
  bytes.write32(tcp + SEQUENCE, bytes.read32(tcp + SEQUENCE) + offset)
  if not is_last then tcp[FLAGS] = band(tcp[FLAGS], 0xff - FIN) end
  write16(ip + IP_SUM, 0)
  write16(ip + IP_SUM, checksum.of(ip, header))
  C.pg_ip4_l4_set(ip, tcp, headers - header + size, TCP)
  wire.barrier()
end

-- Cut the packet into segments of up to `most` bytes; the last is returned.
local function segment(self, p, header, headers, size, most)
  local text = (ip_header.whole(p)) + headers
  self.cut = self.cut + 1
  for offset = 0, size - 1, most do
    local n = math.min(most, size - offset)
    local is_last = offset + n == size
    local q = is_last and p or note.clone(p)
    local own = (ip_header.whole(q)) + headers
    if offset > 0 then ffi.C.memmove(own, text + offset, n) end
    finish(q, header, headers, n, offset, is_last)
    self.fragments = self.fragments + 1
    if is_last then return p end
    self.emit(1, q)
  end
end

function TCPFragmenter:process(p)
  self.count = self.count + 1
  local mtu = mtu_of(self, p)
  if mtu == 0 then return p end
  local header, headers, size = lengths_of(p)
  local most = header and mtu - headers or 0
  if most <= 0 or size <= most then return p end
  local q = segment(self, p, header, headers, size, most)
  return q
end

TCPFragmenter.handlers = {
  fragments = element.data("fragments"), fragmented_count = element.data("cut"),
  count = element.data("count"),
}

return {TCPFragmenter}
