-- SPDX-License-Identifier: Apache-2.0
-- Mends what LuaJIT gets wrong. Loaded first in every Lua state.
--
-- Where compiled code finds that things aren't as they were when it was made, it leaves
-- the rest to the interpreter, which goes on at the last snapshot. Behind a store or a
-- call of C there is a new one, but not behind ffi.copy and ffi.fill (crec_copy and
-- crec_fill in lj_crecord.c, in 2.1 of 2022 and in that of today). What lies between a
-- snapshot and the copy is then done again, and reads what was copied already: an app
-- that looked an address up and wrote another in its place looked up the latter. So a
-- store follows here; it takes one instruction.

local ffi = require("ffi")

local luajit = {}

local copy, fill = ffi.copy, ffi.fill
local done -- luacheck: ignore 231

local function whole_copy(...)
  copy(...)
  done = true -- luacheck: ignore 311
end

local function whole_fill(...)
  fill(...)
  done = true -- luacheck: ignore 311
end

--- Give this Lua state the ffi.copy and ffi.fill that are carried out once, if it has
--- LuaJIT's.
function luajit.mend()
  ffi.copy, ffi.fill = whole_copy, whole_fill
end

luajit.mend()

return luajit
