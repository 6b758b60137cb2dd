-- SPDX-License-Identifier: Apache-2.0
-- Mends what LuaJIT gets wrong, copies functions, and has what families share that
-- replace functions of Lua's for their programs. Loaded first in every Lua state.

local ffi = require("ffi")

local luajit = {}

-- Functions that stand for Lua's ------------------------------------------------

--- For a function that stands for one of Lua's, and has called that by pcall: raise
--- its error `why` as Lua does, by the name and at the place that it was called.
function luajit.fail(why)
  if type(why) ~= "string" then error(why, 0) end
  local called = debug.getinfo(2, "n")
  local at, rest = why:match("^bad argument #(%d+) to '%?' (.*)$")
  if at then
    local name = called.name or "?"
    if called.namewhat == "method" then at = at - 1 end
    why = ("bad argument #%d to '%s' %s"):format(at, name, rest)
    if tonumber(at) == 0 then
      why = ("calling '%s' on bad self %s"):format(name, rest)
    end
  end
  error(why, 3)
end

-- Copies ------------------------------------------------------------------------

--- A function that does what `f` does, with bytecode of its own and the same upvalues,
--- for another use of it: LuaJIT compiles each for itself. Of functions with the same
--- bytecode it checks which it is wherever a trace begins, and each comes to many
--- traces. (A function in C is its own copy.)
function luajit.copy(f)
  local ok, code = pcall(string.dump, f)
  if not ok then return f end
  local copy = assert(loadstring(code))
  for i = 1, debug.getinfo(f, "u").nups do debug.upvaluejoin(copy, i, f, i) end
  debug.setfenv(copy, debug.getfenv(f))
  return copy
end

-- What LuaJIT gets wrong --------------------------------------------------------

-- Where compiled code finds that things aren't as they were when it was made, it leaves
-- the rest to the interpreter, which goes on at the last snapshot. Behind a store or a
-- call of C there is a new one, but not behind ffi.copy and ffi.fill (crec_copy and
-- crec_fill in lj_crecord.c, in 2.1 of 2022 and in that of today). What lies between a
-- snapshot and the copy is then done again, and reads what was copied already: an app
-- that looked an address up and wrote another in its place looked up the latter. So a
-- snapshot follows here, as behind any pcall; it takes no time.
local copy, fill = ffi.copy, ffi.fill

local function whole_copy(...)
  local ok, why = pcall(copy, ...)
  if not ok then luajit.fail(why) end
end

local function whole_fill(...)
  local ok, why = pcall(fill, ...)
  if not ok then luajit.fail(why) end
end

-- Loops over tables -------------------------------------------------------------

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

local real_next, real_pairs = next, pairs

--- next, never compiled.
function luajit.interpreted_next(...)
  local ok, key, value = pcall(real_next, ...)
  if not ok and not key:match("^bad argument") then error(key, 0) end
  if not ok then luajit.fail(key) end
  if key == nil then return nil end
  return key, value
end
jit.off(luajit.interpreted_next)

--- pairs for loops that are never compiled.
function luajit.interpreted_pairs(...)
  local ok, one, state, first = pcall(real_pairs, ...)
  if not ok then luajit.fail(one) end
  if one == real_next then one = luajit.interpreted_next end
  return one, state, first
end

-- Pairs of loads and stores on arm64 ----------------------------------------------

-- Until the end of 2023 LuaJIT's machine code for arm64 has one instruction for two
-- neighbouring loads or stores, and that is wrong: at addresses below a register's
-- (LuaJIT #1028: an illegal instruction ends the process), at addresses that aren't
-- multiples of the size (#1056: other bytes are written, as in packets' headers), and
-- where a value is needed in between (#1075). Debian 12's LuaJITs have all three.
local MENDED = 1701388800 -- 1 December 2023, as rolling releases number themselves

--- Does a LuaJIT of that version (jit.version) make wrong machine code for that
--- architecture (jit.arch), so that Lua has to be interpreted?
function luajit.miscompiles_all(version, arch)
  if arch ~= "arm64" then return false end
  local built = tonumber(version:match("2%.1%.(%d+)$"))
  return not built or built < MENDED
end

if luajit.miscompiles_all(jit.version, jit.arch) then jit.off() end

--- Give this Lua state the ffi.copy and ffi.fill that are carried out once, if it has
--- LuaJIT's; and where loops over tables are compiled wrongly, a next and a pairs that
--- keep them interpreted.
function luajit.mend()
  ffi.copy, ffi.fill = whole_copy, whole_fill
  if luajit.miscompiles_next() then
    rawset(_G, "next", luajit.interpreted_next)
    rawset(_G, "pairs", luajit.interpreted_pairs)
  end
end

luajit.mend()

-- As it was -----------------------------------------------------------------------

local originals = {} -- {table, name, value}: what Lua's library has
for _, library in ipairs{_G, io, os, string, table, math, bit, coroutine, debug,
                         package, getmetatable(io.stdout).__index} do
  for name, value in real_next, library do
    if type(value) == "function" then
      originals[#originals + 1] = {library, name, value}
    end
  end
end

--- Undo what a family has done to the functions of Lua's library (not to the FFI's).
function luajit.restore()
  for _, one in ipairs(originals) do rawset(one[1], one[2], one[3]) end
end

return luajit
