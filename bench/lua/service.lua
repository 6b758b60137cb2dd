-- SPDX-License-Identifier: Apache-2.0
-- A service of apps in Snabb's form, as users write them: counters, VLAN tags, a
-- filter, an address translation and a rate limiter, each with a loop over its input.

local ffi = require("ffi")
local counter = require("core.counter")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")

ffi.cdef("void *memmove(void *, const void *, size_t);")

local C = ffi.C
local receive, transmit = link.receive, link.transmit
local half_t, word_t = ffi.typeof("uint16_t *"), ffi.typeof("uint32_t *")

local MACS, TAG, HEADER, IPV4_SOURCE, IPV4_CHECKSUM, IPV4 = 12, 4, 14, 26, 24, 34

local service = {}

local function class(name, new)
  local c = {}
  c.new = function (_, arg) return setmetatable(new(arg), {__index = c}) end
  service[name] = c
  return c
end

local Count = class("Count", function ()
  return {shm = {packets = {counter}, bytes = {counter}}}
end)

function Count:push()
  local input, output = self.input.input, self.output.output
  while not link.empty(input) do
    local p = receive(input)
    counter.add(self.shm.packets)
    counter.add(self.shm.bytes, p.length)
    transmit(output, p)
  end
end

-- What Tag and Untag have: the tag of that VLAN, as a word of the packet.
local function tag_of(vid)
  return {tag = lib.htonl(bit.bor(bit.lshift(0x8100, 16), vid))}
end

local Tag = class("Tag", tag_of)

function Tag:push()
  local input, output, tag = self.input.input, self.output.output, self.tag
  for _ = 1, link.nreadable(input) do
    local p = packet.shiftright(receive(input), TAG)
    C.memmove(p.data, p.data + TAG, MACS)
    ffi.cast(word_t, p.data + MACS)[0] = tag
    transmit(output, p)
  end
end

local Untag = class("Untag", tag_of)

function Untag:push()
  local input, output, tag = self.input.input, self.output.output, self.tag
  for _ = 1, link.nreadable(input) do
    local p = receive(input)
    if p.length < MACS + TAG or ffi.cast(word_t, p.data + MACS)[0] ~= tag then
      packet.free(p)
    else
      C.memmove(p.data + TAG, p.data, MACS)
      transmit(output, packet.shiftleft(p, TAG))
    end
  end
end

local Filter = class("Filter", function (accepts)
  return {accepts = accepts, shm = {rxerrors = {counter}}}
end)

function Filter:push()
  local i = assert(self.input.input or self.input.rx, "input port not found")
  local o = assert(self.output.output or self.output.tx, "output port not found")
  while not link.empty(i) do
    local p = link.receive(i)
    if self.accepts(p.data, p.length) then
      link.transmit(o, p)
    else
      packet.free(p)
      counter.add(self.shm.rxerrors)
    end
  end
end

local Nat = class("Nat", function (address) return {address = address} end)

-- The checksum of a header in which a word is replaced (RFC 1624).
local function replaced(sum, old, new)
  local s = bit.bxor(sum, 0xffff) + bit.bxor(bit.band(old, 0xffff), 0xffff)
    + bit.bxor(bit.rshift(old, 16), 0xffff) + bit.band(new, 0xffff)
    + bit.rshift(new, 16)
  s = bit.band(s, 0xffff) + bit.rshift(s, 16)
  return bit.bxor(bit.band(s + bit.rshift(s, 16), 0xffff), 0xffff)
end

function Nat:push()
  local input, output = self.input.input, self.output.output
  while not link.empty(input) do
    local p = receive(input)
    if p.length < IPV4 then
      packet.free(p)
      goto continue
    end
    local source = ffi.cast(word_t, p.data + IPV4_SOURCE)
    local sum = ffi.cast(half_t, p.data + IPV4_CHECKSUM)
    sum[0] = replaced(sum[0], source[0], self.address)
    source[0] = self.address
    transmit(output, p)
    ::continue::
  end
end

local Limit = class("Limit", function (rate)
  return {rate = rate, content = rate, shm = {txdrop = {counter}}}
end)

function Limit:push()
  local i, o = assert(self.input.input), assert(self.output.output)
  do
    local now = tonumber(engine.now())
    self.content = math.min(self.content + self.rate * (now - (self.last or now)),
      self.rate)
    self.last = now
  end
  while not link.empty(i) do
    local p = link.receive(i)
    local length = p.length
    if length <= self.content then
      self.content = self.content - length
      link.transmit(o, p)
    else
      counter.add(self.shm.txdrop)
      packet.free(p)
    end
  end
end

local function accepts(data, length)
  return length >= HEADER and data[12] ~= 0x86 and data[0] < 0xff
end

--- The apps of the service in their order: a list of {class, argument}.
service.CHAIN = {
  {Count}, {Filter, accepts}, {Tag, 7}, {Count}, {Limit, 1e15}, {Untag, 7},
  {Nat, 0x0a000001}, {Filter, accepts}, {Count},
}

return service
