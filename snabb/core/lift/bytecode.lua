-- SPDX-License-Identifier: Apache-2.0
-- Are two functions made of the same text? LuaJIT rewrites instructions of those that
-- run: loops that are hot, and what it has compiled.

local bcnames = require("jit.vmdef").bcnames
local util = require("jit.util")

local bytecode = {}

-- What LuaJIT makes of them, and back.
local REWRITTEN = {
  IFORL = "FORL", JFORL = "FORL", JFORI = "FORI", IITERL = "ITERL", JITERL = "ITERL",
  ILOOP = "LOOP", JLOOP = "LOOP", ITERC = "ITERN", ISNEXT = "JMP",
}
local BASE = {FORL = true, FORI = true, ITERL = true, LOOP = true, ITERN = true}

local NUMBERS = {"bytecodes", "params", "stackslots", "upvalues", "gcconsts", "nconsts"}

-- The instruction at `pc`, so that it stays as it is: of those that are rewritten only
-- the name.
local function instruction(f, pc)
  local ins = util.funcbc(f, pc)
  local code = bit.band(ins, 0xff)
  local name = bcnames:sub(code * 6 + 1, code * 6 + 6):match("%S+")
  name = REWRITTEN[name] or name
  return BASE[name] and name or name .. bit.tohex(bit.rshift(ins, 8))
end

local function constant(f, i)
  local k = util.funck(f, i)
  return (type(k) == "string" or type(k) == "number") and k or type(k)
end

--- Have the Lua functions the same instructions and constants? (Those of functions
--- within them aren't looked at.)
function bytecode.same(f, g)
  local a, b = util.funcinfo(f), util.funcinfo(g)
  for _, field in ipairs(NUMBERS) do
    if a[field] ~= b[field] then return false end
  end
  for pc = 1, a.bytecodes - 1 do -- the first is the call's, and rewritten
    if instruction(f, pc) ~= instruction(g, pc) then return false end
  end
  for i = -a.gcconsts, a.nconsts - 1 do
    if constant(f, i) ~= constant(g, i) then return false end
  end
  return true
end

return bytecode
