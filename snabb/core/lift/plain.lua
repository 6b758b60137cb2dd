-- SPDX-License-Identifier: Apache-2.0
-- Functions whose source isn't known, such as those that compilers of filters make: can
-- one get at an app that it isn't given?

local util = require("jit.util")

local plain = {}

local VALUES = {["nil"] = true, number = true, string = true, boolean = true}

-- Words by which a function would get at links.
local ODD = {engine = true, link = true, input = true, output = true, app_table = true,
             require = true, package = true, debug = true, _G = true, getfenv = true}

local function is_harmless(value)
  if type(value) == "function" then return debug.getinfo(value, "S").what == "C" end
  if type(value) == "cdata" then return tostring(value):match("^ctype<") ~= nil end
  return VALUES[type(value)] or false
end

--- Does the Lua function use nothing but its arguments, numbers, texts, C types and
--- functions of LuaJIT's?
function plain.is(f)
  for i = 1, math.huge do
    local name, value = debug.getupvalue(f, i)
    if not name then break end
    if not is_harmless(value) then return false end
  end
  local info = util.funcinfo(f)
  for i = 1, info.gcconsts do
    local constant = util.funck(f, -i)
    if type(constant) == "proto" or ODD[constant] then return false end
  end
  return true
end

return plain
