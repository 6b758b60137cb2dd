-- SPDX-License-Identifier: Apache-2.0
-- A second prototype of a Lua function, for slow code: what LuaJIT learns about one
-- doesn't touch the other. Both share their upvalues.

local twin = {}

--- A function that does what `f` does. (A function in C is its own twin.)
function twin.of(f)
  local ok, code = pcall(string.dump, f)
  if not ok then return f end
  local copy = assert(loadstring(code))
  for i = 1, debug.getinfo(f, "u").nups do debug.upvaluejoin(copy, i, f, i) end
  debug.setfenv(copy, debug.getfenv(f))
  return copy
end

--- The functions of a table, twinned; nil for nil.
function twin.all(functions)
  local copies = functions and {}
  for name, f in pairs(functions or {}) do copies[name] = twin.of(f) end
  return copies
end

return twin
