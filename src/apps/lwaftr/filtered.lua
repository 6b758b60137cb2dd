-- SPDX-License-Identifier: Apache-2.0
-- Where an interface has a filter, packets pass it on their way to or from the fast
-- paths, and are counted there as the reassembler and the fragmenter of the slow way
-- count: before it, and behind it.

local ip4 = require("net.ip.ip4")
local ip6 = require("net.ip.ip6")
local counter = require("core.counter")
local wire = require("net.wire.bytes")

local filtered = {}

local FRAGMENT4 = 0x3fff -- offset, and "more fragments"

-- What a reassembler would pass on as it is.
local function is_whole4(data, length)
  if not ip4.is_ipv4(data, length) then return true end
  return ip4.lengths(data, length) > 0
    and bit.band(wire.read16(data + 20), FRAGMENT4) == 0
end

local function is_whole6(data, length)
  if not ip6.is_ipv6(data, length) then return true end
  return ip6.payload(data, length) >= 0 and data[20] ~= ip6.FRAGMENT
end

-- Whole packets go one way, fragments and what has wrong lengths another.
local function whole(is_whole, name)
  local class = {outputs = {"whole", "rest"}, lengthens = 0, shm = {[name] = {counter}}}
  class.__index = class
  function class.new(self) return setmetatable({}, self) end
  function class.process(self, p)
    if not is_whole(p.data, p.length) then return p, 2 end
    counter.add(self.shm[name])
    return p
  end
  return class
end

filtered.Wholev4 = whole(is_whole4, "in-ipv4-frag-reassembly-unneeded")
filtered.Wholev6 = whole(is_whole6, "in-ipv6-frag-reassembly-unneeded")

local function sent(name)
  local class = {lengthens = 0, shm = {[name] = {counter}}}
  class.__index = class
  function class.new(self) return setmetatable({}, self) end
  function class.process(self, p)
    counter.add(self.shm[name])
    return p
  end
  return class
end

filtered.Sentv4 = sent("out-ipv4-frag-not")
filtered.Sentv6 = sent("out-ipv6-frag-not")

return filtered
