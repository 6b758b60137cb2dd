-- SPDX-License-Identifier: Apache-2.0
-- Ethernet addresses. As a number, one has its first byte in the lowest 8 bits
-- (as in libmoon). Text is made by prototypes of its own: get, set and == are
-- for packet loops, and must not be called from slow code here.

local ffi = require("ffi")
local cells = require("lib.stack.layout.cells")
local missing = require("lib.stack.layout.missing")
local text = require("net.address.address")
local without = require("lib.stack.address.operands").without

cells.declare("mac_bytes", 8, 6)
cells.declare("mac_number", 64, 1)
ffi.cdef[[
struct perigee_mac {
  union {
    struct perigee_mac_bytes uint8_;
    struct {
      uint32_t low;
      uint16_t high;
    } __attribute__((packed)) words;
  } __attribute__((packed));
} __attribute__((packed));
]]

local Mac = ffi.typeof("struct perigee_mac")
local int64 = ffi.typeof("int64_t")
local as_number = ffi.typeof("struct perigee_mac_number *")
local cast, istype = ffi.cast, ffi.istype
local rshift = bit.rshift
local type, tonumber = type, tonumber -- a global costs side traces loads

local methods = {}
local meta = {}

local function set_from(self, value)
  if istype(Mac, value) then
    ffi.copy(self, value, 6)
  elseif type(value) == "cdata" and tonumber(value) then
    self.words.low = value
    self.words.high = rshift(value, 32)
  else
    error(("an Ethernet address is set to a number or another address, not '%s'; "
      .. "setString takes text"):format(tostring(value)), 3)
  end
end

--- The address as a number of 48 bits.
function methods:get()
  if not istype(Mac, self) then without(self, "Ethernet") end
  return self.words.high * 2^32 + self.words.low
end

--- Set the address to a number, or to another address.
function methods:set(value)
  if not istype(Mac, self) then without(self, "Ethernet") end
  if type(value) == "number" then
    local number = cast(int64, value)
    self.words.low = number
    self.words.high = rshift(number, 32)
  else
    set_from(self, value)
  end
end

function meta.__eq(a, b)
  return istype(Mac, a) and istype(Mac, b)
    and a.words.low == b.words.low and a.words.high == b.words.high
end

-- ---- text: slow ----

--- The address in the string `s` ("02:00:00:00:00:01", or with dashes), as a
--- struct perigee_mac, or as a number if `number`; nil if `s` isn't just that.
local function parse(s, number)
  local bytes = text.mac(s)
  if not bytes then return nil end
  local mac = Mac()
  ffi.copy(mac, bytes, 6)
  return not number and mac or mac.words.high * 2^32 + mac.words.low
end

--- Set the address from text.
function methods:setString(s)
  if not istype(Mac, self) then without(self, "Ethernet") end
  local bytes = text.mac(s)
  if not bytes then
    error(("'%s' is not an Ethernet address, such as 02:00:00:00:00:01")
      :format(tostring(s)), 2)
  end
  ffi.copy(self, bytes, 6)
end

--- "02:00:00:00:00:01"
function methods:getString()
  if not istype(Mac, self) then without(self, "Ethernet") end
  return text.text(ffi.string(self, 6))
end
meta.__tostring = methods.getString

meta.__newindex = cells.setter("an Ethernet address", {}, {uint8 = true, uint64 = true},
  missing.guard(methods, "an Ethernet address", {"uint8", "uint64", "words"}, nil, 2))

local known = cells.constant(methods)

function meta.__index(self, name)
  if name == "uint8" then return self.uint8_ end
  if name == "uint64" then return cast(as_number, self)[0] end
  return known[name]
end

ffi.metatype(Mac, missing.operators(meta, "an Ethernet address",
  "get gives a number, getString text"))

return {type = Mac, parse = parse}
