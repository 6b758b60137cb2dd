-- SPDX-License-Identifier: Apache-2.0
-- libmoon's proto.template: a metatable for the headers of a protocol that a script
-- defines, with getters and setters for members of 8, 16 and 32 bits, and empty
-- functions for the rest, which the script replaces.

local bit = require("bit")

-- Compiling what runs a few times takes longer than running it.
jit.off(true, true)

local function swapped16(value)
  return bit.bor(bit.rshift(bit.band(value, 0xffff), 8),
    bit.lshift(bit.band(value, 0xff), 8))
end

local SWAP = {uint16_t = swapped16, uint32_t = bit.bswap}

local function add_accessors(methods, ctype, member)
  local swap = SWAP[ctype] or function (value) return value end
  local name = member:gsub("^%l", string.upper)
  methods["set" .. name] = function (self, value) self[member] = swap(value or 0) end
  methods["get" .. name] = function (self) return swap(self[member]) end
  methods["get" .. name .. "String"] = function (self)
    return tostring(self["get" .. name](self))
  end
end

--- The metatable for a header with these members (C, or nil).
return function (members)
  local methods = {}
  methods.__index = methods
  for ctype, member in (members or ""):gmatch("([%w_ ]-)%s+([%w_]+)%s*%[?%d*%]?%s*;") do
    add_accessors(methods, ctype:match("[%w_]+$"), member)
  end
  function methods.fill() end
  function methods.get() return {} end
  function methods.getString() return "" end
  function methods.resolveNextHeader() end
  function methods.setDefaultNamedArgs(_, _, args) return args end
  function methods.getVariableLength() end
  function methods.getSubType() end
  return setmetatable({}, methods)
end
