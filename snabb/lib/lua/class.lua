-- SPDX-License-Identifier: Apache-2.0
-- Snabb's classes. Objects are recycled: free() puts one on its class's free list, and
-- the next new() may give it back with its fields as they were. Programs call the
-- global function subClass, which loading this module defines.

local class = {}

-- The class at the root of all others. Fields that begin with "_" are read by derived
-- classes: _instance marks an object, _recycled one that has been used before.
local Elementary = {_name = "elementary class"}

-- Metatable of each class's objects: one per class, so that traces see one.
local object_metatables = setmetatable({}, {__mode = "k"})

--- Of a class: a new or recycled object. Of an object: the object itself, as recycled.
function Elementary:new()
  if self == Elementary then error("the elementary class has no objects", 2) end
  if self._instance then
    self._recycled = true
    return self
  end
  local freelist = self._freelist
  local object = freelist.list[freelist.index]
  if object then
    freelist.list[freelist.index] = nil
    freelist.index = freelist.index - 1
    object._recycled = true
    return object
  end
  return setmetatable({_recycled = false, _instance = true}, object_metatables[self])
end

--- The class's name, or nil.
function Elementary:name()
  return self._name
end

--- Recycle the object, which must not be used any more.
function Elementary:free()
  local freelist = self._freelist -- its class's
  local index = freelist.index + 1
  freelist.index = index
  freelist.list[index] = self
end

--- A new class derived from `base` (the elementary class if nil). It has the methods
--- class(), itself, and superClass(), `base`: a method calls the one it overrides as
--- theclass:superClass().method(self, ...).
function class.subClass(base)
  base = base or Elementary
  local new_class = setmetatable({_freelist = {index = 0, list = {}}}, {__index = base})
  function new_class.class() return new_class end
  function new_class.superClass() return base end
  object_metatables[new_class] = {__index = new_class}
  return new_class
end

--- The metatable of the objects of a class.
function class.of_objects(a_class) return object_metatables[a_class] end

rawset(_G, "subClass", class.subClass)

return class
