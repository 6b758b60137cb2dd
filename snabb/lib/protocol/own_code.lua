-- SPDX-License-Identifier: Apache-2.0
-- Code of a class's own. LuaJIT counts how often a function is called, and compiles one
-- that several classes share, and so is called several times for each packet, before
-- the loop over packets: then it follows what comes behind it for many packets, in vain
-- and again and again, and the loop may stay interpreted. Functions that each class has
-- for itself are called once a packet, and are compiled with the loop.

local ffi = require("ffi")

local own_code = {}

--- The function whose text is `code`, in which `$name` stands for values.name; its
--- names `ffi` and `lib` are modules, and `given` is what is given.
function own_code.make(code, values, given)
  local text = code:gsub("%$(%w+)", values or {})
  local chunk = assert(loadstring("local ffi, lib, given = ... " .. text,
    "=a header's method"))
  return chunk(ffi, require("core.lib"), given)
end

-- An object is recycled as lib.lua.class does it, but without calls.
local METHODS = {
  new_from_mem = [[
    local cast, void_p, new = ffi.cast, ffi.typeof("void *"), given
    return function (self, memory, size)
      local o, freelist = self, self._freelist
      local index = freelist.index
      if self._instance then
        o._recycled = true
      elseif index > 0 then
        o = freelist.list[index]
        freelist.index = index - 1
        if not o._recycled then o._recycled = true end
      else
        o = new(self)
      end
      local variant = o._headers[1]
      if size < variant.size then
        o:free()
        return nil
      end
      variant.box[0] = cast(void_p, memory)
      o._header = variant
      return o
    end]],
  free = [[
    return function (self)
      local freelist = self._freelist
      local index = freelist.index + 1
      freelist.index = index
      freelist.list[index] = self
    end]],
  header = "return function (self) return self._header.box[0][0] end",
  header_ptr = "return function (self) return self._header.box[0] end",
  sizeof = "return function (self) return self._header.size end",
  upper_layer = [[
    local loaded = package.loaded
    return function (self)
      local ulp = self._ulp
      local method = ulp.method
      if not method then return nil end
      local name = ulp.class_map[self[method](self)]
      if not name then return nil end
      return loaded[name] or require(name)
    end]],
}

--- Give the class those methods of lib.protocol.header that are called for each packet;
--- `new` makes an object.
function own_code.give(class, new)
  for name, code in pairs(METHODS) do class[name] = own_code.make(code, nil, new) end
end

--- The method `name` of lib.protocol.header itself.
function own_code.of(name, new) return own_code.make(METHODS[name], nil, new) end

return own_code
