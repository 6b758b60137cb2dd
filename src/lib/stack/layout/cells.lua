-- SPDX-License-Identifier: Apache-2.0
-- Arrays in addresses and payloads as programs index them: pkt.ip4.src.uint8[3],
-- pkt.payload.uint16[0]. Each is a C struct of its own around the array, which LuaJIT
-- asks for indices. What isn't an index, or no number, gets a sentence; LuaJIT itself
-- would read and write outside. An index that is a constant is looked at when code is
-- compiled.

local C = require("core.native")
local ffi = require("ffi")
local shown = require("core.lib.arguments").shown

local cells = {}

local ROOM = tonumber(C.PACKET_MAX_PAYLOAD) -- bytes of a packet at most

local type, tonumber = type, tonumber -- a global costs side traces loads

local function refuse_index(name, i, most)
  error(("%s[i] is indexed with numbers from 0 to %d, not with %s"):format(name, most,
    shown(i)), 3)
end

-- What isn't of Lua's type number: 64-bit integers are numbers, too.
local function number_of(name, i, value)
  if type(value) == "cdata" and tonumber(value) then return value end
  error(("%s[%d] takes a number, not %s"):format(name, i, shown(value)), 3)
end

local function metatable(name, n)
  return {
    __index = function (self, i)
      if type(i) ~= "number" or not (i >= 0 and i < n) then
        refuse_index(name, i, n - 1)
      end
      return self.cells_[i]
    end,
    __newindex = function (self, i, value)
      if type(i) ~= "number" or not (i >= 0 and i < n) then
        refuse_index(name, i, n - 1)
      end
      if type(value) ~= "number" then value = number_of(name, i, value) end
      self.cells_[i] = value
    end,
    __add = function (self, i) return self.cells_ + i end, -- as an array: a pointer
  }
end

--- Declare the C type struct perigee_NAME: an array of `n` numbers of `bits` bits that
--- programs know as `uint<bits>`. Without `n`, as many as a packet has room for.
function cells.declare(name, bits, n)
  ffi.cdef(("struct perigee_%s { uint%d_t cells_[%d]; } __attribute__((packed));")
    :format(name, bits, n or 0))
  ffi.metatype("struct perigee_" .. name,
    metatable("uint" .. bits, n or ROOM * 8 / bits))
end

--- A function for __newindex of a type with numbers: `slots` has their names in C, and
--- `others` is called with what there isn't. `what` is "an IPv4 address".
function cells.setter(what, slots, arrays, others)
  return function (self, name, value)
    local slot = slots[name]
    if slot and type(value) == "cdata" and tonumber(value) then
      self[slot] = value
    elseif slot then
      error(("%s's %s takes a number, not %s"):format(what, name, shown(value)), 2)
    elseif arrays[name] then
      error(("%s's %s can't be set to %s; %s[i] are its numbers"):format(what, name,
        shown(value), name), 2)
    else
      others(self, name) -- a frame of its own: depth 2
    end
  end
end

local function payload_setter(what, others)
  return cells.setter(what, {}, {uint8 = true, uint16 = true, uint32 = true,
    uint64 = true}, others)
end

--- Declare the C type `union NAME` of what is behind headers: bytes under any width.
--- `index` is called for what else it is asked for, `newindex` for what else is set.
--- Returns functions for __index and __newindex.
function cells.payload(name, index, newindex)
  for _, bits in ipairs{8, 16, 32, 64} do cells.declare(name .. bits, bits) end
  ffi.cdef((("union NAME { struct perigee_NAME8 uint8_; struct perigee_NAME16 uint16_; "
    .. "struct perigee_NAME32 uint32_; struct perigee_NAME64 uint64_; } "
    .. "__attribute__((packed));"):gsub("NAME", name)))
  return function (self, key)
    if key == "uint8" then return self.uint8_ end
    if key == "uint16" then return self.uint16_ end
    if key == "uint32" then return self.uint32_ end
    if key == "uint64" then return self.uint64_ end
    return index(self, key)
  end, payload_setter("a payload", newindex)
end

--- Methods and names in a type without bytes: as an upvalue, LuaJIT takes it, and with
--- it what is found in it, as a constant.
function cells.constant(methods)
  return ffi.metatype(ffi.typeof("struct {}"), {__index = methods})()
end

return cells
