-- SPDX-License-Identifier: Apache-2.0
-- Ethernet addresses. As a number, one has its first byte in the lowest 8 bits
-- (as in libmoon). Text is made by prototypes of its own: get, set and == are
-- for packet loops, and must not be called from slow code here.

local ffi = require("ffi")
local missing = require("lib.stack.layout.missing")
local text = require("net.address.address")
local without = require("lib.stack.address.operands").without

ffi.cdef[[
struct perigee_mac {
  union {
    uint8_t uint8[6];
    uint64_t uint64[0];
    struct {
      uint32_t low;
      uint16_t high;
    } __attribute__((packed)) words;
  } __attribute__((packed));
} __attribute__((packed));
]]

local Mac = ffi.typeof("struct perigee_mac")
local int64 = ffi.typeof("int64_t")
local cast, istype = ffi.cast, ffi.istype
local rshift = bit.rshift
local type, tonumber = type, tonumber -- a global costs side traces loads

local methods = {}
local meta = {__index = methods}

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
--- struct perigee_mac, or as a number if `as_number`; nil if `s` isn't just that.
local function parse(s, as_number)
  local bytes = text.mac(s)
  if not bytes then return nil end
  local mac = Mac()
  ffi.copy(mac, bytes, 6)
  return not as_number and mac or mac.words.high * 2^32 + mac.words.low
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

meta.__newindex = missing.guard(methods, "an Ethernet address",
  {"uint8", "uint64", "words"})
ffi.metatype(Mac, missing.operators(meta, "an Ethernet address",
  "get gives a number, getString text"))

return {type = Mac, parse = parse}
