-- SPDX-License-Identifier: Apache-2.0
-- What is said of a member that there isn't: LuaJIT's own message names a type by a
-- number. It is a metatable's __index or __newindex, which what is there never reaches.

local spelling = require("core.lib.spelling")

local missing = {}

local function fault(level, fmt, ...)
  error(fmt:format(...), level + 1)
end

--- A function (_, name) for __index: `what` ("ip4") has no such member. `names` returns
--- a list of those it has; `more` is said where none is near. `depth`: how many
--- functions are between it and the program (1).
function missing.index(what, names, more, depth)
  depth = depth or 1
  return function (_, name)
    if name == "packet" then fault(depth + 2, "%s is no packet, and has none", what) end
    local hint = spelling.hint(tostring(name), names())
    if hint == "" and more then hint = "; " .. more end
    fault(depth + 1, "%s has no '%s'%s", what, tostring(name), hint)
  end
end

--- The same for __newindex: what is called set<Name> may be meant.
function missing.newindex(what, names, more, depth)
  return function (_, name)
    local hint = spelling.hint("set" .. tostring(name), names())
    if hint == "" and more then hint = "; " .. more end
    fault(depth + 1, "%s has no member '%s' to assign to%s", what, tostring(name), hint)
  end
end

--- Make a table of methods say so of others; `members` are further names. Returns a
--- function for __newindex. `depth` is that of `missing.index`.
function missing.guard(methods, what, members, more, depth)
  local function names()
    local list = {unpack(members or {})}
    for name in pairs(methods) do
      if type(name) == "string" and not name:find("^__") then list[#list + 1] = name end
    end
    table.sort(list)
    return list
  end
  setmetatable(methods, {__index = missing.index(what, names, more, depth)})
  return missing.newindex(what, names, more, depth or 1)
end

local OPERATORS = {
  __len = "#", __unm = "-", __concat = "..", __add = "+", __sub = "-", __mul = "*",
  __div = "/", __mod = "%", __pow = "^", __lt = "<", __le = "<=", __call = "()",
}

--- Let a metatable (of ffi.metatype) say so where an operator that it hasn't is used
--- with `what`; `more` is said behind. Returns the metatable.
function missing.operators(meta, what, more)
  for event, operator in pairs(OPERATORS) do
    meta[event] = meta[event] or function ()
      fault(2, "'%s' can't be used with %s; %s", operator, what, more)
    end
  end
  return meta
end

return missing
