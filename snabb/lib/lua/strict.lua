-- SPDX-License-Identifier: Apache-2.0
-- Makes the use of an undeclared global an error. A global is declared by an assignment
-- (even of nil) in a main chunk, by C code (`module`, say) or with rawset. Lua's own
-- and Debian's libraries aren't held to it: they test for globals by reading them.

local strict = {}

-- Source files ("@/usr/share/lua/5.1/...") of libraries that aren't ours.
local EXEMPT = {"^@/usr/share/lua/", "^@/usr/local/share/lua/", "^@/usr/share/luajit"}

-- Level of the function that used the global, seen from a function that a metamethod
-- calls.
local USER_LEVEL = 3

local function is_exempt(info)
  if info.what == "C" then return true end
  for _, pattern in ipairs(EXEMPT) do
    if info.source:find(pattern) then return true end
  end
  return false
end

local function user()
  return debug.getinfo(USER_LEVEL, "S") or {what = "C"}
end

--- Forbid undeclared globals in the table `env` (_G), for good.
function strict.enable(env)
  env = env or _G
  local mt = getmetatable(env)
  if mt and mt.strict then return end
  mt = mt or {}
  assert(not mt.__index and not mt.__newindex, "these globals have metamethods already")
  mt.strict = true
  local declared = {} -- those that may be nil

  function mt.__newindex(t, name, value)
    if not declared[name] then
      local info = user()
      if info.what ~= "main" and not is_exempt(info) then
        error(("assignment to the undeclared global '%s'"):format(tostring(name)), 2)
      end
      declared[name] = true
    end
    rawset(t, name, value)
  end

  function mt.__index(_, name)
    if not declared[name] and not is_exempt(user()) then
      error(("the global '%s' is not declared"):format(tostring(name)), 2)
    end
  end

  setmetatable(env, mt)
end

return strict
