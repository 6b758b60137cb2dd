-- SPDX-License-Identifier: Apache-2.0
-- Mends what LuaJIT gets wrong. Loaded first in every Lua state.

local ffi = require("ffi")

local luajit = {}

-- Where compiled code finds that things aren't as they were when it was made, it leaves
-- the rest to the interpreter, which goes on at the last snapshot. Behind a store or a
-- call of C there is a new one, but not behind ffi.copy and ffi.fill (crec_copy and
-- crec_fill in lj_crecord.c, in 2.1 of 2022 and in that of today). What lies between a
-- snapshot and the copy is then done again, and reads what was copied already: an app
-- that looked an address up and wrote another in its place looked up the latter. So a
-- store follows here; it takes one instruction.
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

-- 2.1.0-beta3 of March 2022, Debian 12's, compiles some loops over tables wrongly:
-- where both results of lj_vm_next are in each other's registers, it exchanges only 32
-- bits of them. Half of a pointer is lost, and the process crashes (ra_destpair,
-- lj_asm.c). With a next that isn't compiled such loops aren't, either. OpenResty's
-- branch, libluajit2 in Debian 12, is right under the same version; its tables have
-- more functions.

--- Does this LuaJIT compile loops over tables wrongly?
function luajit.miscompiles_next()
  return jit.version:find("beta3", 1, true) ~= nil
    and not package.preload["table.isempty"]
end

local real_next = next

local function interpreted_next(t, key) return real_next(t, key) end
jit.off(interpreted_next)

local function interpreted_pairs(t)
  if type(t) ~= "table" then
    error(("bad argument #1 to 'pairs' (table expected, got %s)"):format(type(t)), 2)
  end
  return interpreted_next, t
end

--- Give this Lua state the ffi.copy and ffi.fill that are carried out once, if it has
--- LuaJIT's; and where loops over tables are compiled wrongly, a next and a pairs that
--- keep them interpreted.
function luajit.mend()
  ffi.copy, ffi.fill = whole_copy, whole_fill
  if luajit.miscompiles_next() then
    next, pairs = interpreted_next, interpreted_pairs -- luacheck: ignore 121
  end
end

luajit.mend()

return luajit
