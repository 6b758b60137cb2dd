-- SPDX-License-Identifier: Apache-2.0
-- What a router does with each IPv4 packet that it forwards. Headers have been checked;
-- still, no byte is read that the packet doesn't have.

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.declare")("native/ip.h")
local element = require("click.element")
local ip_header = require("click.net.ip_header")
local note = require("click.note")
local wire = require("click.net.wire")
require("core.declare")("net/checksum/checksum.h")

local barrier = wire.barrier
local band, lshift, rshift, tobit = bit.band, bit.lshift, bit.rshift, bit.tobit
local cast, little_endian = ffi.cast, ffi.abi("le")
local halves_t, words_t = ffi.typeof("uint16_t *"), ffi.typeof("int32_t *")
local NETWORK, FIX_IP_SRC = note.NETWORK_HEADER, note.FIX_IP_SRC
local MINIMAL = 20
local CHECKSUM, DESTINATION = 5, 16 -- the checksum is a half
local TTL_WORD = 2 -- the word of TTL, protocol and checksum
local USUAL = 0x45 -- version 4, no options
local GROUP, GROUP_MASK = 0xe0, 0xf0

-- DecIPTTL -------------------------------------------------------------------------

local DecIPTTL = element.define{
  name = "DecIPTTL", summary = "decrements IP time-to-live, drops dead packets",
  division = "any",
  ports = "1/1-2", processing = "a/ah",
  arguments = {
    {"ACTIVE", "bool", default = true, keyword = true},
    {"MULTICAST", "bool", default = true, keyword = true},
  },
  drops = {"expired", "no IP header"}, reads = {"NETWORK_HEADER"}, lengthens = 0,
}

function DecIPTTL:configure(a)
  self.active, self.multicast, self.expired = a.ACTIVE, a.MULTICAST, 0
end

-- RFC 1624, equation 3, for a TTL that is less by 1, of the word of TTL, protocol and
-- checksum. One access for all three: LuaJIT forgets no halves that it knows of.

-- In the word of a CPU that has its least byte first, the TTL is that, and the checksum
-- the upper half. 1 more, and another for what is carried: 0xfffe becomes 0.
local function count_down_le(word)
  local carry = rshift(rshift(word, 16) + 2, 16)
  return tobit(tobit(word + 0xffff) + lshift(carry, 16))
end

-- The other way around: the TTL is the first byte, the sum the lower half.
local function count_down_be(word)
  local sum = band(word, 0xffff) + 0x100
  sum = band(sum + rshift(sum + 1, 16), 0xffff)
  return bit.bor(band(tobit(word - 0x1000000), 0xffff0000), sum)
end

local count_down = little_endian and count_down_le or count_down_be
local ttl_of = little_endian and function (word) return band(word, 0xff) end
  or function (word) return rshift(word, 24) end

--- Count the TTL of the header down; false if it has run out.
local function decrement(ip)
  local words = cast(words_t, ip)
  local word = words[TTL_WORD]
  if ttl_of(word) <= 1 then return false end
  words[TTL_WORD] = count_down(word)
  return true
end
DecIPTTL.decrement = decrement

local function expire(e, p)
  e.expired = e.expired + 1
  if e.noutputs == 2 then return p, 2 end
  return nil, 1
end

function DecIPTTL:process(p)
  local ip = ip_header.begin(p)
  if not ip then return nil, 2 end
  if not self.active
    or not self.multicast and band(ip[DESTINATION], GROUP_MASK) == GROUP then
    return p
  end
  if not decrement(ip) then
    local q, o = expire(self, p)
    return q, o
  end
  barrier()
  return p
end

DecIPTTL.handlers = {
  drops = {read = function (e) return ("%d"):format(e.expired) end},
  active = element.data("active", "bool"),
}

function DecIPTTL:make_process()
  if not self.active or not self.multicast then return DecIPTTL.process end
  return function (_, p)
    local at = p.note16[NETWORK]
    if at == 0 or tobit(at + MINIMAL) > tobit(p.data_off + p.length) then
      return nil, 2
    end
    if not decrement(p.buf_addr + at) then
      local q, o = expire(self, p)
      return q, o
    end
    return p
  end
end

-- FixIPSrc -------------------------------------------------------------------------

local FixIPSrc = element.define{
  name = "FixIPSrc", summary = "sets IP source field if requested by annotation",
  division = "any",
  arguments = {{"IPADDR", "ip", required = true}},
  drops = {"bad IP header"}, reads = {"NETWORK_HEADER", "FIX_IP_SRC"}, lengthens = 0,
}

function FixIPSrc:configure(a) self.word = wire.word_of(a.IPADDR) end

--- Give the packet that source address; false if it has no sound header.
local function fix(p, word)
  local ip, header = ip_header.whole(p)
  if not ip then return false end
  local halves = cast(halves_t, ip)
  p.note8[FIX_IP_SRC] = 0
  cast(words_t, ip)[3] = word
  halves[CHECKSUM] = 0
  halves[CHECKSUM] = C.pg_checksum_word(ip, header)
  return true
end
FixIPSrc.fix = fix

function FixIPSrc:process(p)
  if p.note8[FIX_IP_SRC] ~= 0 and not fix(p, self.word) then return nil, 1 end
  return p
end

function FixIPSrc:make_process()
  local word = self.word
  return function (_, p)
    if p.note8[FIX_IP_SRC] ~= 0 and not fix(p, word) then return nil, 1 end
    return p
  end
end

-- IPGWOptions ----------------------------------------------------------------------

local IPGWOptions = element.define{
  name = "IPGWOptions", summary = "processes router IP options",
  division = "any",
  ports = "1/1-2", processing = "a/ah",
  arguments = {
    {"MYADDR", "ip", required = true}, {"OTHERADDRS", "ip", list = true},
  },
  drops = {"bad option", "no IP header"}, reads = {"NETWORK_HEADER"}, lengthens = 0,
}

function IPGWOptions:configure(a)
  local others = a.OTHERADDRS or {}
  self.gateway = ffi.new("struct ip4_gateway")
  self.others = ffi.new("uint32_t[?]", #others + 1)
  for i, address in ipairs(others) do self.others[i - 1] = wire.word_of(address) end
  self.gateway.address, self.gateway.others, self.gateway.n =
    wire.word_of(a.MYADDR), self.others, #others
  self.bad = 0
end

local DAY = 86400

--- Milliseconds since midnight UT.
local function since_midnight(router) return (router:now() % DAY) * 1000 end

--- Do what the header's options want, if it has any; what is wrong: nil (nothing), -1
--- (it has no sound header), or the number of the byte.
local function see_to_options(p, gateway, router)
  local at, limit = p.note16[NETWORK], tobit(p.data_off + p.length)
  if at == 0 or tobit(at + MINIMAL) > limit then return -1 end
  local ip = p.buf_addr + at
  if ip[0] == USUAL then return nil end
  local header = lshift(band(ip[0], 15), 2)
  if header <= MINIMAL then return nil end
  if at + header > limit then return -1 end
  local problem = C.pg_ip4_gateway_options(gateway, ip, since_midnight(router))
  if problem ~= 0 then return problem end
end
IPGWOptions.see_to_options = see_to_options

local function refuse(e, p, problem)
  if problem < 0 then return nil, 2 end
  e.bad = e.bad + 1
  p.note8[note.ICMP_PARAMPROB] = problem
  if e.noutputs == 2 then return p, 2 end
  return nil, 1
end

function IPGWOptions:process(p)
  local problem = see_to_options(p, self.gateway, self.router)
  if not problem then return p end
  local q, o = refuse(self, p, problem)
  return q, o
end

-- Most packets have none, and need no look at the element.
function IPGWOptions:make_process()
  return function (_, p)
    local at = p.note16[NETWORK]
    if at ~= 0 and tobit(at + MINIMAL) <= tobit(p.data_off + p.length)
        and p.buf_addr[at] == USUAL then
      return p
    end
    local q, o = IPGWOptions.process(self, p)
    return q, o
  end
end

IPGWOptions.handlers = {
  drops = {read = function (e) return ("%d"):format(e.bad) end},
}

return {DecIPTTL, FixIPSrc, IPGWOptions}
