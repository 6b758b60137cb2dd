-- SPDX-License-Identifier: Apache-2.0
-- Code of a class's own. LuaJIT counts how often a function is called, and compiles one
-- that several classes share, and so is called several times for each packet, before
-- the loop over packets: then it follows what comes behind it for many packets, in vain
-- and again and again, and the loop may stay interpreted. Functions that each class has
-- for itself are called once a packet, and are compiled with the loop.

local ffi = require("ffi")
local check = require("lib.protocol.check")

local own_code = {}

--- The function whose text is `code`, in which `$name` stands for values.name; its
--- names `ffi`, `lib` and `check` are modules, and `given` is what is given.
function own_code.make(code, values, given)
  local text = code:gsub("%$(%w+)", values or {})
  local chunk = assert(loadstring("local ffi, lib, given, check = ... "
    .. "local type, tonumber = type, tonumber " .. text,
    "=a header's method"))
  return chunk(ffi, require("core.lib"), given, check)
end

-- A new object of a class, whose C types are `given`: written out, so that LuaJIT
-- compiles it with the loop over packets. Where the next round doesn't need the object
-- any more, it makes none, but still what the object holds: so that is little. What an
-- object of a single C type has of that is its own list of such. `given.make` is for
-- classes derived from this one.
local NEW = [[
    local own, make, meta = given.class, given.make, given.meta
    local setmetatable = setmetatable
    $locals
    local function new(self)
      if self ~= own then return make(self) end
      $variants
      return setmetatable({_recycled = false, _instance = true, _headers = $list,
        _header = v1}, meta)
    end
]]
local LOCALS = [[
    local meta$i, t$i, box_t$i = given[$i].meta, given[$i].t, given[$i].box_t
]]
local VARIANT = [[
      local v$i = setmetatable({data = t$i(), box = box_t$i()}, meta$i)
]]
local ONLY_VARIANT = [[
      local v1 = setmetatable({false, box = box_t1()}, meta1)
      v1[1] = v1
]]

-- An object is recycled as lib.lua.class does it, but without calls.
local METHODS = {
  new_from_mem = [[
    local cast, void_p = ffi.cast, ffi.typeof("void *")
    $new
    return function (self, memory, size)
      if type(memory) ~= "cdata" or tonumber(memory) or type(size) ~= "number" then
        size = check.memory(memory, size)
      end
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

-- The text of NEW for a class with so many C types.
local function new_of(count)
  local locals, variants, list = {}, {}, {}
  for i = 1, count do
    locals[i], variants[i] = LOCALS:gsub("%$i", i), VARIANT:gsub("%$i", i)
    list[i] = "v" .. i
  end
  if count == 1 then variants[1], list[1] = ONLY_VARIANT, nil end
  return (NEW:gsub("%$(%w+)", {locals = table.concat(locals),
    variants = table.concat(variants),
    list = count == 1 and "v1" or ("{%s}"):format(table.concat(list, ", "))}))
end

--- Give the class those methods of lib.protocol.header that are called for each packet.
--- `given`: its C types, each with `t`, `box_t` and the metatable `meta` of what an
--- object has of it; `class`, itself; `meta`, of its objects; `make`, which makes an
--- object of any class.
function own_code.give(class, given)
  local values = {new = new_of(#given)}
  for name, code in pairs(METHODS) do
    class[name] = own_code.make(code, values, given)
  end
end

--- The method `name` of lib.protocol.header itself; `make` makes an object.
function own_code.of(name, make)
  return own_code.make(METHODS[name], {new = "local new = given"}, make)
end

return own_code
