-- SPDX-License-Identifier: Apache-2.0
-- A traceback with the values of local variables, under the name that Snabb's programs
-- load it by.

local M = {}

local LONGEST = 60 -- characters of a value

local function shown(value)
  local text = type(value) == "string" and ("%q"):format(value) or tostring(value)
  return #text > LONGEST and text:sub(1, LONGEST) .. "..." or text
end

local function locals_at(level)
  local lines = {}
  for i = 1, 200 do -- variables at most, in LuaJIT
    local name, value = debug.getlocal(level + 1, i)
    if not name then break end
    if not name:match("^%(") then
      lines[#lines + 1] = ("\t\t%s = %s"):format(name, shown(value))
    end
  end
  return lines
end

local function place(info)
  local name = info.name and ("in function '%s'"):format(info.name)
    or info.what == "main" and "in main chunk"
    or info.what == "C" and "in C"
    or ("in function <%s:%d>"):format(info.short_src, info.linedefined)
  local line = info.currentline > 0 and ":" .. info.currentline or ""
  return ("\t%s%s: %s"):format(info.short_src, line, name)
end

--- The functions that called this one, from `level` (1) on, the innermost first, with
--- their local variables; `message` stands before it. What is neither a string nor nil
--- is given back as it is, as by debug.traceback.
function M.stacktrace(message, level)
  if message ~= nil and type(message) ~= "string" then return message end
  local lines = {(message and message .. "\n" or "") .. "Stack Traceback"}
  level = (level or 1) + 1
  local info = debug.getinfo(level, "nSl")
  while info do
    lines[#lines + 1] = place(info)
    for _, line in ipairs(locals_at(level)) do lines[#lines + 1] = line end
    level = level + 1
    info = debug.getinfo(level, "nSl")
  end
  return table.concat(lines, "\n")
end

return M
