-- SPDX-License-Identifier: Apache-2.0
-- Does this process check what apps do with packets (--check)? It is known before
-- packets, links and C are declared, which are others then.

local ffi = require("ffi")

ffi.cdef "bool pg_checking(bool begin);"

local mode = {}

--- Is it on? In all threads of the process, or in none.
mode.on = ffi.C.pg_checking(false)

--- Turn it on, before any other module of core.
function mode.turn_on()
  if mode.on then return end
  assert(not package.loaded["core.native"], "--check comes too late")
  mode.on = ffi.C.pg_checking(true)
end

return mode
