-- SPDX-License-Identifier: Apache-2.0
-- The base class of Snabb's protocol headers. A header lies in memory of its own
-- (`new`) or where a packet has it (`new_from_mem`); its methods are the same.
--
-- A class has `_name`, and `_ulp` = {method, class_map}: the result of the method
-- selects the module of the class for what follows. init() gives it its C types:
-- several for headers of variable size, of which the first, the base header, tells
-- the others apart. An object has one of each, and `_header` is the one in use.

local ffi = require("ffi")
local class = require("lib.lua.class")

local header = class.subClass(nil)
header._ulp = {}

--- Give the class its C types (a list).
function header:init(types)
  assert(#types > 0, "a protocol header needs a C type")
  self._singleton_p = #types == 1
  self._headers = {}
  for i, ctype in ipairs(types) do
    local variant = {
      t = ctype, size = ffi.sizeof(ctype),
      ptr_t = ffi.typeof("$ *", ctype), box_t = ffi.typeof("$ *[1]", ctype),
    }
    variant.meta = {__index = variant}
    self._headers[i] = variant
  end
  self._header = self._headers[1] -- so that class:sizeof() is the base header's
end

-- A new or recycled object, with its base header in use.
local function object(self)
  local freelist = rawget(self, "_freelist") -- nil if `self` is an object itself
  local index = freelist and freelist.index or 0
  local o = index > 0 and freelist.list[index]
  if o then -- as the class of all classes does it, without calls
    freelist.list[index] = nil
    freelist.index = index - 1
    o._recycled = true
  else
    o = header:superClass().new(self)
  end
  if not o._recycled then
    local variants = {}
    for i, variant in ipairs(self._headers) do
      variants[i] = setmetatable({data = variant.t(), box = variant.box_t()},
        variant.meta)
    end
    o._headers = variants
  end
  o._header = o._headers[1]
  o._memory = nil
  return o
end

--- Let variant `i` be the one in use, all zeros, in the object's own memory.
function header:use_own(i)
  local variant = self._headers[i]
  ffi.fill(variant.data, variant.size)
  variant.box[0] = ffi.cast(variant.ptr_t, variant.data)
  self._header = variant
end

--- Let variant `i` be the one in use, at `memory`, if it is there within `size` bytes;
--- whether it is.
function header:use_memory(i, memory, size)
  local variant = self._headers[i]
  if size < variant.size then return false end
  variant.box[0] = ffi.cast(variant.ptr_t, memory)
  self._header = variant
  return true
end

--- A header of zeros.
function header:new()
  local o = object(self)
  o:use_own(1)
  return o
end

--- The header at `memory`, which must outlive the object; nil if `size` bytes are too
--- few for one.
function header:new_from_mem(memory, size)
  local o = object(self)
  if o:use_memory(1, memory, size) then return o end
  o:free()
  return nil
end

--- The C struct (a reference).
function header:header() return self._header.box[0][0] end

--- A pointer to it.
function header:header_ptr() return self._header.box[0] end

--- Its C type.
function header:ctype() return self._header.t end

--- Its size in bytes.
function header:sizeof() return self._header.size end

--- Are type and bytes those of `other`?
function header:eq(other)
  local size = self:sizeof()
  return self:ctype() == other:ctype() and
    ffi.string(self:header_ptr(), size) == ffi.string(other:header_ptr(), size)
end

--- Copy the header's bytes to `destination`. With `relocate` they are the object's
--- header from then on.
function header:copy(destination, relocate)
  local variant = self._header
  ffi.copy(destination, variant.box[0], variant.size)
  if relocate then variant.box[0] = ffi.cast(variant.ptr_t, destination) end
end

--- A copy with memory of its own.
function header:clone()
  local memory = self:ctype()()
  ffi.copy(memory, self:header_ptr(), self:sizeof())
  local o = self:class():new_from_mem(memory, self:sizeof())
  o._memory = memory -- as long as the object lives, so does it
  return o
end

--- The class of what follows the header; nil if there is none.
function header:upper_layer()
  local method = self._ulp.method
  local name = method and self._ulp.class_map[self[method](self)]
  if not name then return nil end
  return package.loaded[name] or require(name)
end

return header
