-- SPDX-License-Identifier: Apache-2.0
-- IPv4 addresses between packets and their annotations.

local bit = require("bit")
local chance = require("click.chance")
local checksum = require("net.checksum.checksum")
local ffi = require("ffi")
local element = require("click.element")
local note = require("click.note")
local numbers = require("click.arguments.numbers")
local types = require("click.arguments").types
local wire = require("click.net.wire")

local reject = element.reject
local barrier = wire.barrier
local band, lshift, tobit = bit.band, bit.lshift, bit.tobit
local words_t, halves_t = ffi.typeof("uint32_t *"), ffi.typeof("uint16_t *")
local NETWORK, TRANSPORT, DST_IP =
  note.NETWORK_HEADER, note.TRANSPORT_HEADER, note.DST_IP
local FIRST, DST_IP_AT = note.FIRST, note.DST_IP * 4
local ADDRESS, MINIMAL = 4, 20 -- bytes
local IN_HEADER = {src = 12, dst = 16}

-- GetIPAddress ---------------------------------------------------------------------

local GetIPAddress = element.define{
  name = "GetIPAddress",
  division = "any",
  summary = "sets destination IP address annotation from packet data",
  arguments = {
    {"OFFSET", "int", default = -1}, {"ANNO", "anno", size = ADDRESS},
    {"IP", "string", keyword = true},
  },
}

-- What the usual one does: it is compiled better than any annotation anywhere.
local function get_destination(self, p)
  local offset = self.offset
  p.note32[DST_IP] = offset + ADDRESS <= p.length
    and ffi.cast(words_t, p.data + offset)[0] or 0
  return p
end

local function get_any(self, p)
  local offset = self.offset
  ffi.cast(words_t, p.note8 + self.to)[0] = offset + ADDRESS <= p.length
    and ffi.cast(words_t, p.data + offset)[0] or 0
  return p
end

local function get_from_header(self, p)
  local at = p.note16[NETWORK]
  local sound = at ~= 0 and at + MINIMAL <= p.data_off + p.length
  ffi.cast(words_t, p.note8 + self.to)[0] = sound
    and ffi.cast(words_t, p.buf_addr + at + self.offset)[0] or 0
  return p
end

function GetIPAddress:configure(a)
  if (a.OFFSET >= 0) == (a.IP ~= nil) then
    return self:error("set one of OFFSET, IP")
  elseif a.IP and not IN_HEADER[a.IP] then
    return self:error("bad IP")
  end
  self.offset = a.IP and IN_HEADER[a.IP] or a.OFFSET
  self.to = a.ANNO and FIRST + a.ANNO or DST_IP_AT
  self.process = a.IP and get_from_header
    or self.to == DST_IP_AT and get_destination or get_any
end

GetIPAddress.process = get_any

-- SetIPAddress ---------------------------------------------------------------------

local SetIPAddress = element.define{
  name = "SetIPAddress", summary = "sets destination IP address annotations",
  division = "any", live = true,
  arguments = {
    {"IPADDR", "ip", required = true},
    {"ANNO", "anno", size = ADDRESS, keyword = true},
  },
}

function SetIPAddress:configure(a)
  self.word = wire.word_of(a.IPADDR)
  self.to = a.ANNO and FIRST + a.ANNO or DST_IP_AT
end

SetIPAddress.handlers = {
  addr = {
    read = function (e) return wire.word_text(e.word) end,
    write = function (e, text)
      local address = types.ip(text, {}, e)
      if not address then return "expected IP address" end
      e.word = wire.word_of(address)
    end,
  },
}

function SetIPAddress:process(p)
  ffi.cast(words_t, p.note8 + self.to)[0] = self.word
  return p
end

-- StoreIPAddress -------------------------------------------------------------------

local StoreIPAddress = element.define{
  name = "StoreIPAddress", ports = "1/1-2", processing = "a/ah",
  division = "any", readdresses = true,
  summary = "stores IP address in packet", drops = {"out of range"},
}

local ONE = {{"OFFSET", "word", required = true}}
local TWO = {{"ADDR", "ip", required = true}, ONE[1]}
StoreIPAddress.arguments = {{"ADDR", "ip"}, ONE[1]}

function StoreIPAddress:configure_raw(texts)
  local arguments = require("click.arguments")
  local a = arguments.parse(#texts > 1 and TWO or ONE, texts, self)
  if not a then return end
  self.word = a.ADDR and wire.word_of(a.ADDR) or nil
  self.in_header = IN_HEADER[a.OFFSET:lower()]
  self.offset = numbers.unsigned(a.OFFSET, {max = 2 ^ 31 - 1})
  if not (self.offset or self.in_header) then
    self:error("type mismatch: OFFSET requires integer")
  end
end

local TCP, UDP, PROTOCOL = 6, 17, 9
local FRAGMENT_OFFSET = wire.swap16(0x1fff)
local IP_SUM, TCP_SUM, UDP_SUM = 5, 8, 3 -- halves

-- See to the checksums of the packet whose header is at `at`.
local function update_all(p, at, difference)
  local ip, limit = p.buf_addr + at, p.data_off + p.length
  local halves = ffi.cast(halves_t, ip)
  halves[IP_SUM] = checksum.changed(halves[IP_SUM], difference)
  if band(halves[3], FRAGMENT_OFFSET) ~= 0 then return end
  local protocol, behind = ip[PROTOCOL], p.note16[TRANSPORT]
  local transport = ffi.cast(halves_t, p.buf_addr + behind)
  if protocol == TCP and behind + 20 <= limit then
    transport[TCP_SUM] = checksum.changed(transport[TCP_SUM], difference)
  elseif protocol == UDP and behind + 8 <= limit and transport[UDP_SUM] ~= 0 then
    transport[UDP_SUM] = checksum.udp(checksum.changed(transport[UDP_SUM], difference))
  end
end

-- Write the word into the IP header, which is at `at`.
local function store_in_header(p, at, is_source, word)
  local ip = p.buf_addr + at
  local halves = ffi.cast(halves_t, ip)
  local before, after
  if is_source then
    before = tobit(halves[6] + halves[7])
    ffi.cast(words_t, ip)[3] = word
    after = tobit(halves[6] + halves[7])
  else
    before = tobit(halves[8] + halves[9])
    ffi.cast(words_t, ip)[4] = word
    after = tobit(halves[8] + halves[9])
  end
  update_all(p, at, tobit(after + 0x1fffe - before))
end

function StoreIPAddress:process(p)
  local word, offset, at = self.word, self.offset, p.note16[NETWORK]
  if not word then
    word = tobit(p.note32[DST_IP])
    if word == 0 then return p end
  end
  if offset and offset + ADDRESS <= p.length then
    ffi.cast(words_t, p.data + offset)[0] = word
    barrier()
    return p
  elseif not offset and at ~= 0 and at + MINIMAL <= p.data_off + p.length
    and p.note16[TRANSPORT] >= at + MINIMAL then
    store_in_header(p, at, self.in_header == IN_HEADER.src, word)
    barrier()
    return p
  end
  local q, o = reject(self, p)
  return q, o
end

-- SetRandIPAddress -----------------------------------------------------------------

local SetRandIPAddress = element.define{
  name = "SetRandIPAddress", aliases = {"RandomIPAddress"},
  summary = "sets destination IP address annotations randomly",
  arguments = {
    {"PREFIX", "ip_prefix", required = true, bare = true},
    {"LIMIT", "int", default = -1},
  },
}

local function pick(self)
  return bit.bor(self.address, band(chance.word(), self.host))
end

function SetRandIPAddress:configure(a)
  self.address = wire.word_of(band(a.PREFIX.address, a.PREFIX.mask))
  self.host = wire.word_of(bit.bnot(a.PREFIX.mask))
  self.list, self.n = {}, math.max(a.LIMIT, 0)
  for i = 1, self.n do self.list[i] = pick(self) end
end

function SetRandIPAddress:process(p)
  local n = self.n
  p.note32[DST_IP] = n > 0 and self.list[1 + chance.among(n)] or pick(self)
  return p
end

-- IPMirror -------------------------------------------------------------------------

local IPMirror = element.define{
  name = "IPMirror", summary = "swaps IP source and destination",
  division = "any",
  arguments = {{"DST_ANNO", "bool", default = true}}, drops = {"no IP header"},
}

function IPMirror:configure(a) self.annotate = a.DST_ANNO end

-- Checksums stay right: they are sums.
function IPMirror:process(p)
  local at, limit = p.note16[NETWORK], p.data_off + p.length
  if at == 0 or at + MINIMAL > limit then return nil, 1 end
  local ip = p.buf_addr + at
  local words, halves = ffi.cast(words_t, ip), ffi.cast(halves_t, ip)
  local source = words[3]
  words[3], words[4] = words[4], source
  if self.annotate then p.note32[DST_IP] = source end
  local protocol, behind = ip[PROTOCOL], at + lshift(band(ip[0], 15), 2)
  if (protocol == TCP or protocol == UDP) and band(halves[3], FRAGMENT_OFFSET) == 0
    and behind + 8 <= limit then
    local ports = ffi.cast(halves_t, p.buf_addr + behind)
    ports[0], ports[1] = ports[1], ports[0]
    if protocol == TCP and behind + 12 <= limit then
      local numbers_of = ffi.cast(words_t, p.buf_addr + behind)
      numbers_of[1], numbers_of[2] = numbers_of[2], numbers_of[1]
    end
  end
  barrier()
  return p
end

return {GetIPAddress, SetIPAddress, StoreIPAddress, SetRandIPAddress, IPMirror}
