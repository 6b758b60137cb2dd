-- SPDX-License-Identifier: Apache-2.0
-- An option of neighbour discovery: type, length in units of 8 bytes, value (RFC 4861,
-- section 4.6). Known are the two link-layer addresses.

local ffi = require("ffi")
local given = require("lib.protocol.check")
local class = require("lib.lua.class")
local lladdr = require("lib.protocol.icmp.nd.options.lladdr")

local tlv = class.subClass(nil)
tlv._name = "unknown"
tlv._types = {
  [1] = {name = "src_ll_addr", class = "lib.protocol.icmp.nd.options.lladdr"},
  [2] = {name = "tgt_ll_addr", class = "lib.protocol.icmp.nd.options.lladdr"},
}

local UNIT, HEAD, ADDRESS = 8, 2, 6 -- bytes

-- C types, one for each length: LuaJIT never gives one back.
local types = {}
local function type_of(size)
  local t = types[size]
  if not t then
    t = ffi.typeof(([[
      struct { struct { uint8_t type, length; } tlv; uint8_t data[%d]; }
    ]]):format(size - HEAD))
    types[size] = t
  end
  return t
end

--- Can an option of the type and so many bytes be one of these?
function tlv.is_known(kind, size)
  return tlv._types[kind] ~= nil and size >= HEAD + ADDRESS
end

local function check(kind, size)
  if not tlv.is_known(kind, size) then
    error(("there is no option of type %s and %d bytes; types are 1 and 2")
      :format(tostring(kind), size), 3)
  end
end

local function object(self, kind, memory, size)
  local o = tlv:superClass().new(self)
  o._name = tlv._types[kind].name
  o._tlv = memory
  o._option = lladdr:new_from_mem(memory.data, size - HEAD)
  return o
end

--- An option of the type (1 or 2) with the value `data`, a cdata object of 6 bytes (or
--- 8n - 2), or a link-layer address of options.lladdr.
function tlv:new(kind, data)
  if type(data) == "table" then data = data._lladdr end
  if type(data) ~= "cdata" or tonumber(data) then given.bytes("tlv:new", data, 6) end
  local size = ffi.sizeof(data) + HEAD
  check(kind, size)
  if size % UNIT ~= 0 then
    error(("an option's value can't have %d bytes: type, length and value fill units "
      .. "of 8"):format(size - HEAD), 2)
  end
  local memory = type_of(size)()
  memory.tlv.type, memory.tlv.length = kind, size / UNIT
  ffi.copy(memory.data, data, size - HEAD)
  return object(self, kind, memory, size)
end

--- The option at `memory`, of `size` bytes. Raises an error if it isn't known.
function tlv:new_from_mem(memory, size)
  if type(memory) ~= "cdata" or tonumber(memory) or type(size) ~= "number" then
    size = given.memory(memory, size)
  end
  local bytes = ffi.cast("uint8_t *", memory)
  check(size >= HEAD and bytes[0], size)
  return object(self, bytes[0],
    ffi.cast(ffi.typeof("$ *", type_of(size)), memory), size)
end

--- "src_ll_addr" or "tgt_ll_addr".
function tlv:name() return self._name end

--- The type, set first if given.
function tlv:type(kind)
  if kind ~= nil then
    check(kind, UNIT)
    self._tlv.tlv.type = kind
  end
  return self._tlv.tlv.type
end

--- The length in units of 8 bytes.
function tlv:length() return self._tlv.tlv.length end

--- The value's bytes.
function tlv:data() return self._tlv.data end

--- The option as it is sent.
function tlv:tlv() return self._tlv end

--- The value: an object of options.lladdr.
function tlv:option() return self._option end

return tlv
