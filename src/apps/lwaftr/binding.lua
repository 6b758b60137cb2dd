-- SPDX-License-Identifier: Apache-2.0
-- A binding table that all lwAFTRs of a process look things up in, on whatever CPU, by
-- its number. The thread that made it changes it in place, or swaps it for another.

local ffi = require("ffi")
local C = require("core.declare")("apps/lwaftr/lwaftr.h")
local failure = require("core.failure")

local Binding = {}
Binding.__index = Binding

local function of(pointer, softwires)
  return setmetatable({binding = ffi.gc(pointer, C.pg_binding_release),
    id = C.pg_binding_id(pointer), softwires = softwires}, Binding)
end

--- For these softwires (apps.lwaftr.softwires), which stay usable as long as they are
--- the binding's. They have but one binding.
function Binding.new(softwires)
  if softwires.binding then return softwires.binding end
  local pointer = C.pg_binding_new(softwires.table)
  if pointer == nil then
    failure.raise("there is no memory for another binding table, or there are 256")
  end
  ffi.gc(softwires.table, nil) -- it is the binding's now
  softwires.binding = of(pointer, softwires)
  return softwires.binding
end

--- The binding that has this number; it has no field `softwires`.
function Binding.numbered(id)
  local pointer = C.pg_binding_find(id)
  if pointer == nil then
    failure.raise("there is no binding table number %s", tostring(id))
  end
  return of(pointer)
end

--- Let `path` (struct lwaftr_path) look things up, until part(path).
function Binding:join(path)
  if not C.pg_binding_join(self.binding, path) then
    failure.raise("a binding table has too many users")
  end
end

--- The path uses the table no more.
function Binding:part(path)
  if path.binding ~= nil then C.pg_binding_part(path) end
end

--- Put these softwires in the place of those it has, which are no longer of use then:
--- they are freed when nobody looks into them any more.
function Binding:swap(softwires)
  if softwires.binding then failure.raise("these softwires are a binding's already") end
  if not C.pg_binding_swap(self.binding, softwires.table) then
    failure.raise("there is no memory to swap a binding table")
  end
  ffi.gc(softwires.table, nil)
  self.softwires.binding = nil
  setmetatable(self.softwires, nil)
  softwires.binding, self.softwires = self, softwires
end

-- Changes and questions go to the softwires it has.
for _, name in ipairs{"add", "remove", "get", "find", "is_managed", "count", "bytes",
  "port_set", "list"} do
  Binding[name] = function (self, ...)
    return self.softwires[name](self.softwires, ...)
  end
end

return Binding
