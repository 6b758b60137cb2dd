-- SPDX-License-Identifier: Apache-2.0
-- The base class of Snabb's protocol headers. A header is in memory of its own
-- (`new`) or where a packet has it (`new_from_mem`); its methods are the same.
--
-- A class has `_name`, and `_ulp` = {method, class_map}: the result of the method
-- selects the module of the class for what follows. init() gives it its C types:
-- several for headers of variable size, of which the first, the base header, selects
-- the others. An object has one of each, and `_header` is the one in use.

local ffi = require("ffi")
local class = require("lib.lua.class")
local own_code = require("lib.protocol.own_code")

local header = class.subClass(nil)
header._ulp = {}

-- A new object (of own_code.lua's form).
local function make(kind)
  local o = header:superClass().new(kind)
  local variants = {}
  if #kind._headers == 1 then
    variants = setmetatable({false, box = kind._header.box_t()}, kind._header.meta)
    variants[1] = variants
  end
  for i = #variants + 1, #kind._headers do
    local of_class = kind._headers[i]
    variants[i] = setmetatable({data = of_class.t(), box = of_class.box_t()},
      of_class.meta)
  end
  o._headers, o._header = variants, variants[1]
  return o
end

--- Give the class its C types (a list).
function header:init(types)
  assert(#types > 0, "a protocol header needs a C type")
  self._singleton_p = #types == 1
  self._headers = {}
  local given = {class = self, meta = class.of_objects(self), make = make}
  for i, ctype in ipairs(types) do
    local of_class = {
      t = ctype, size = ffi.sizeof(ctype),
      ptr_t = ffi.typeof("$ *", ctype), box_t = ffi.typeof("$ *[1]", ctype),
    }
    of_class.meta = {__index = of_class} -- of what each object has of its own
    self._headers[i], given[i] = of_class, of_class
  end
  self._header = self._headers[1] -- so that class:sizeof() is the base header's
  own_code.give(self, given)
end

-- A new or recycled object, with its base header in use.
local function object(self)
  if not self._instance and self._freelist.index == 0 then return make(self) end
  local o = header:superClass().new(self)
  o._header = o._headers[1]
  return o
end

-- The memory that the object has for that variant of its own.
local function own_memory(variant)
  if not variant.data then variant.data = variant.t() end
  return variant.data
end

--- Let variant `i` be the one in use, all zeros, in the object's own memory.
function header:use_own(i)
  local variant = self._headers[i]
  local data = own_memory(variant)
  ffi.fill(data, variant.size)
  variant.box[0] = ffi.cast(variant.ptr_t, data)
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

--- header:new_from_mem(memory, size): the header at `memory`, which must outlive the
--- object; nil if `size` bytes are too few for one.
header.new_from_mem = own_code.of("new_from_mem", make)

--- header:free(): recycle the object, which must not be used any more.
header.free = own_code.of("free")

--- header:header(): the C struct (a reference).
header.header = own_code.of("header")

--- header:header_ptr(): a pointer to it.
header.header_ptr = own_code.of("header_ptr")

--- header:sizeof(): its size in bytes.
header.sizeof = own_code.of("sizeof")

--- Its C type.
function header:ctype() return self._header.t end

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
  local o = self:class():new_from_mem(self:header_ptr(), self:sizeof())
  o:copy(own_memory(o._header), true)
  return o
end

--- header:upper_layer(): the class of what follows the header; nil if there is none.
header.upper_layer = own_code.of("upper_layer")

return header
