-- SPDX-License-Identifier: Apache-2.0
-- A number that other processes can read: one double in shared memory.

local ffi = require("ffi")
local arguments = require("core.lib.arguments")
local bytes_of = require("core.lib.bytes")
local shm = require("core.shm")

local gauge_t = ffi.typeof("struct { double g; }")

local gauge = {}

local function refuse(name, object)
  arguments.refuse(name, 1, object, "a gauge (gauge.create() or gauge.open())", 4)
end

gauge.type = shm.register("gauge", gauge)

--- Make the gauge `name` with the value `initial` (0).
function gauge.create(name, initial)
  local object = shm.create(name, gauge_t)
  object.g = initial or 0
  return object
end

--- Open the existing gauge `name` to read it.
function gauge.open(name)
  return shm.open(name, gauge_t, "readonly")
end

--- Set `object` to `value`.
function gauge.set(object, value)
  if not ffi.istype(gauge_t, object) then refuse("gauge.set", object) end
  if type(value) ~= "number" then
    local problem = arguments.problem("gauge.set: argument 2", "number", value)
    if problem then error(problem, 2) end
  end
  object.g = tonumber(value)
end

--- The value of `object`: NaN if another process has written what is no number.
function gauge.read(object)
  if not ffi.istype(gauge_t, object) then refuse("gauge.read", object) end
  return bytes_of.double(object)
end

--- For core.shm.view: a number, nil if it isn't finite.
gauge.view = {
  bytes = ffi.sizeof(gauge_t),
  read = function (bytes) return bytes_of.finite_double(bytes, 0) end,
  text = function (value) return ("%f"):format(value) end,
}

ffi.metatype(gauge_t, {
  __tostring = function(object) return gauge.view.text(gauge.read(object)) end,
})

return arguments.guard(gauge, "gauge", {create = "string, number?", open = "string"})
