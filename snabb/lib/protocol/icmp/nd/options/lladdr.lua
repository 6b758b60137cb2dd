-- SPDX-License-Identifier: Apache-2.0
-- A link-layer address, as options of neighbour discovery have it (RFC 4861, section
-- 4.6.1): a MAC address.

local ffi = require("ffi")
local check = require("lib.protocol.check")
local class = require("lib.lua.class")

local lladdr_t = ffi.typeof("struct { uint8_t lladdr[6]; }")
local pointer_t = ffi.typeof("$ *", lladdr_t)

local lladdr = class.subClass(nil)
lladdr._name = "ll_addr"

--- One of the address.
function lladdr:new(addr)
  local o = lladdr:superClass().new(self)
  if type(addr) ~= "cdata" or tonumber(addr) then check.bytes("new", addr, 6) end
  o._lladdr = lladdr_t()
  ffi.copy(o._lladdr, addr, 6)
  return o
end

--- That at `memory`, of at least 6 bytes.
function lladdr:new_from_mem(memory, size)
  if type(memory) ~= "cdata" or tonumber(memory) or type(size) ~= "number" then
    size = check.memory(memory, size)
  end
  if size < 6 then
    error(("a link-layer address takes 6 bytes; there are %d"):format(size), 2)
  end
  local o = lladdr:superClass().new(self)
  o._lladdr = ffi.cast(pointer_t, memory)
  return o
end

--- "ll_addr".
function lladdr:name() return self._name end

--- The address (a reference), set first if given.
function lladdr:addr(addr)
  if addr ~= nil then
    if type(addr) ~= "cdata" or tonumber(addr) then check.bytes("addr", addr, 6) end
    ffi.copy(self._lladdr, addr, 6)
  end
  return self._lladdr.lladdr
end

return lladdr
