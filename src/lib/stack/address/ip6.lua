-- SPDX-License-Identifier: Apache-2.0
-- IPv6 addresses, in network order wherever they are, with arithmetic modulo
-- 2^128. Text is made by prototypes of its own: the others are for packet
-- loops, and must not be called from slow code here.

local ffi = require("ffi")

local cells = require("lib.stack.layout.cells")

cells.declare("ip6_bytes", 8, 16)
cells.declare("ip6_words", 32, 4)
cells.declare("ip6_halves", 64, 2)
ffi.cdef[[
struct perigee_ip6 {
  union {
    struct perigee_ip6_bytes uint8_;
    struct perigee_ip6_words uint32_;
    struct perigee_ip6_halves uint64_;
    uint64_t halves[2];
  } __attribute__((packed));
} __attribute__((packed));
]]

local missing = require("lib.stack.layout.missing")
local operands = require("lib.stack.address.operands")
local text = require("net.address.address")

local Ip6 = ffi.typeof("struct perigee_ip6")
local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")
local cast, istype = ffi.cast, ffi.istype
local bswap = bit.bswap
local type = type -- a global costs side traces loads
local amount, incomparable, without = operands.amount, operands.incomparable,
  operands.without

local methods = {}
local meta = {}

--- A copy of the address.
function methods:get()
  if not istype(Ip6, self) then without(self, "IPv6") end
  local copy = Ip6()
  copy.halves[0] = self.halves[0]
  copy.halves[1] = self.halves[1]
  return copy
end

local function refuse(value)
  error(("an IPv6 address is set to another address, not '%s'; setString takes "
    .. "text"):format(tostring(value)), 3)
end

--- Set the address to another one.
function methods:set(value)
  if not istype(Ip6, self) then without(self, "IPv6") end
  if not istype(Ip6, value) then refuse(value) end
  -- Both are read before either is written: the two may overlap.
  local high, low = value.halves[0], value.halves[1]
  self.halves[0] = high
  self.halves[1] = low
end

-- `to` = `from` + n, modulo 2^128; n: a number, int64_t or uint64_t.
local function sum(to, from, n)
  local high, low = bswap(from.halves[0]), bswap(from.halves[1])
  local negative = n < 0
  local new = low + cast(uint64, istype(uint64, n) and n or cast(int64, n))
  if negative then
    if new > low then high = high - 1 end
  elseif new < low then
    high = high + 1
  end
  to.halves[0] = bswap(high)
  to.halves[1] = bswap(new)
end

-- `to` = `from` - n.
local function difference(to, from, n)
  local high, low = bswap(from.halves[0]), bswap(from.halves[1])
  local negative = n < 0
  local new = low - cast(uint64, istype(uint64, n) and n or cast(int64, n))
  if negative then
    if new < low then high = high + 1 end
  elseif new > low then
    high = high - 1
  end
  to.halves[0] = bswap(high)
  to.halves[1] = bswap(new)
end

--- Add `n` (a number, int64_t or uint64_t; it may be negative) in place.
function methods:add(n)
  if not istype(Ip6, self) then without(self, "IPv6") end
  if type(n) ~= "number" then n = amount(n, "IPv6") end
  sum(self, self, n)
end

--- address + n, n + address: a new address.
function meta.__add(a, b)
  if not istype(Ip6, a) then a, b = b, a end
  if type(b) ~= "number" then b = amount(b, "IPv6") end
  local result = Ip6()
  sum(result, a, b)
  return result
end

--- address - n: a new address.
function meta.__sub(a, n)
  if not istype(Ip6, a) then incomparable(a, n, "IPv6") end
  if type(n) ~= "number" then n = amount(n, "IPv6") end
  local result = Ip6()
  difference(result, a, n)
  return result
end

function meta.__eq(a, b)
  return istype(Ip6, a) and istype(Ip6, b)
    and a.halves[0] == b.halves[0] and a.halves[1] == b.halves[1]
end

function meta.__lt(a, b)
  if not (istype(Ip6, a) and istype(Ip6, b)) then incomparable(a, b, "IPv6") end
  if a.halves[0] ~= b.halves[0] then
    return bswap(a.halves[0]) < bswap(b.halves[0])
  end
  return bswap(a.halves[1]) < bswap(b.halves[1])
end

function meta.__le(a, b)
  if not (istype(Ip6, a) and istype(Ip6, b)) then incomparable(a, b, "IPv6") end
  if a.halves[0] ~= b.halves[0] then
    return bswap(a.halves[0]) < bswap(b.halves[0])
  end
  return bswap(a.halves[1]) <= bswap(b.halves[1])
end

-- ---- text: slow ----

--- The address in the string `s`; nil if `s` isn't just that.
local function parse(s)
  local bytes = text.ip6(s)
  if not bytes then return nil end
  local result = Ip6()
  ffi.copy(result, bytes, 16)
  return result
end

--- Set the address from text.
function methods:setString(s)
  if not istype(Ip6, self) then without(self, "IPv6") end
  local result = parse(s)
  if not result then
    error(("'%s' is not an IPv6 address, such as 2001:db8::1")
      :format(tostring(s)), 2)
  end
  ffi.copy(self, result, 16)
end

--- The address as text (RFC 5952): "2001:db8::1", "::ffff:192.0.2.1".
function methods:getString()
  if not istype(Ip6, self) then without(self, "IPv6") end
  return text.text(ffi.string(self, 16))
end
meta.__tostring = methods.getString

meta.__newindex = cells.setter("an IPv6 address", {},
  {uint8 = true, uint32 = true, uint64 = true}, missing.guard(methods,
    "an IPv6 address", {"uint8", "uint32", "uint64"}, nil, 2))

local known = cells.constant(methods)

function meta.__index(self, name)
  if name == "uint8" then return self.uint8_ end
  if name == "uint32" then return self.uint32_ end
  if name == "uint64" then return self.uint64_ end
  return known[name]
end

ffi.metatype(Ip6, missing.operators(meta, "an IPv6 address",
  "get gives a number, getString text"))

return {type = Ip6, parse = parse}
