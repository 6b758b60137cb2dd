-- SPDX-License-Identifier: Apache-2.0
-- IPv4 addresses. As a number, one is unsigned and in host order (192.0.2.1 is
-- 0xc0000201). Text is made by prototypes of its own: the others are for packet
-- loops, and must not be called from slow code here.

local ffi = require("ffi")

local cells = require("lib.stack.layout.cells")

cells.declare("ip4_bytes", 8, 4)
ffi.cdef[[
struct perigee_ip4 {
  union {
    struct perigee_ip4_bytes uint8_;
    uint32_t uint32_;
  } __attribute__((packed));
} __attribute__((packed));
]]

local missing = require("lib.stack.layout.missing")
local operands = require("lib.stack.address.operands")
local text = require("net.address.address")

local Ip4 = ffi.typeof("struct perigee_ip4")
local uint32 = ffi.typeof("uint32_t")
local cast, istype = ffi.cast, ffi.istype
local bswap = bit.bswap
local amount, incomparable, without = operands.amount, operands.incomparable,
  operands.without
local type, tonumber = type, tonumber -- a global costs side traces loads

local methods = {}
local meta = {}

local function set_from(self, value)
  if istype(Ip4, value) then
    self.uint32_ = value.uint32_
  elseif type(value) == "cdata" and tonumber(value) then
    self.uint32_ = bswap(tonumber(cast(uint32, value)))
  else
    error(("an IPv4 address is set to a number or another address, not '%s'; "
      .. "setString takes text"):format(tostring(value)), 3)
  end
end

--- The address as a number, 0 to 0xffffffff.
function methods:get()
  if not istype(Ip4, self) then without(self, "IPv4") end
  return (tonumber(cast(uint32, bswap(self.uint32_)))) -- no tail call: accessors.lua
end

--- Set the address to a number (modulo 2^32), or to another address.
function methods:set(value)
  if not istype(Ip4, self) then without(self, "IPv4") end
  if type(value) == "number" then self.uint32_ = bswap(value)
  else set_from(self, value) end
end

--- Add the number `n`, which may be negative, in place (modulo 2^32).
function methods:add(n)
  if not istype(Ip4, self) then without(self, "IPv4") end
  if type(n) ~= "number" then n = tonumber(amount(n, "IPv4")) end
  self.uint32_ = bswap(bswap(self.uint32_) + n)
end

function meta.__eq(a, b)
  return istype(Ip4, a) and istype(Ip4, b) and a.uint32_ == b.uint32_
end

function meta.__lt(a, b)
  if not (istype(Ip4, a) and istype(Ip4, b)) then incomparable(a, b, "IPv4") end
  return cast(uint32, bswap(a.uint32_)) < cast(uint32, bswap(b.uint32_))
end

function meta.__le(a, b)
  if not (istype(Ip4, a) and istype(Ip4, b)) then incomparable(a, b, "IPv4") end
  return cast(uint32, bswap(a.uint32_)) <= cast(uint32, bswap(b.uint32_))
end

--- address + n, n + address: a number, modulo 2^32.
function meta.__add(a, b)
  if not istype(Ip4, a) then a, b = b, a end
  if type(b) ~= "number" then b = tonumber(amount(b, "IPv4")) end
  return (bswap(a.uint32_) + b) % 2^32
end

--- address - n: a number, modulo 2^32.
function meta.__sub(a, n)
  if not istype(Ip4, a) then incomparable(a, n, "IPv4") end
  if type(n) ~= "number" then n = tonumber(amount(n, "IPv4")) end
  return (bswap(a.uint32_) - n) % 2^32
end

-- ---- text: slow ----

--- The address in the string `s` ("192.0.2.1") as a number; nil if `s` isn't just
--- that.
local parse = text.ip4_number

--- Set the address from text.
function methods:setString(s)
  if not istype(Ip4, self) then without(self, "IPv4") end
  local number = parse(s)
  if not number then
    error(("'%s' is not an IPv4 address, such as 192.0.2.1")
      :format(tostring(s)), 2)
  end
  self.uint32_ = bswap(number)
end

--- "192.0.2.1"
function methods:getString()
  if not istype(Ip4, self) then without(self, "IPv4") end
  return text.text(ffi.string(self, 4))
end
meta.__tostring = methods.getString

local set_member = cells.setter("an IPv4 address", {uint32 = "uint32_"},
  {uint8 = true},
  missing.guard(methods, "an IPv4 address", {"uint8", "uint32"}, nil, 2))

function meta.__newindex(self, name, value)
  if name == "uint32" and type(value) == "number" then
    self.uint32_ = value
    return
  end
  return set_member(self, name, value)
end

local known = cells.constant(methods)

function meta.__index(self, name)
  if name == "uint32" then return self.uint32_ end
  if name == "uint8" then return self.uint8_ end
  return known[name]
end

ffi.metatype(Ip4, missing.operators(meta, "an IPv4 address",
  "get gives a number, getString text"))

return {type = Ip4, parse = parse, text = text.ip4_text}
