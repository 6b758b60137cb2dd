-- SPDX-License-Identifier: Apache-2.0
-- A number that other processes can read: one double in shared memory.

local ffi = require("ffi")
local shm = require("core.shm")

local gauge_t = ffi.typeof("struct { double g; }")

local gauge = {}

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
function gauge.set(object, value) object.g = value end

--- The value of `object`.
function gauge.read(object) return object.g end

local gauge_p = ffi.typeof("$ *", gauge_t)

--- For core.shm.view: a number.
gauge.view = {
  bytes = ffi.sizeof(gauge_t),
  read = function (bytes)
    return ffi.cast(gauge_p, ffi.cast("const char *", bytes)).g
  end,
  text = function (value) return ("%f"):format(value) end,
}

ffi.metatype(gauge_t, {
  __tostring = function(object) return gauge.view.text(object.g) end,
})

return gauge
