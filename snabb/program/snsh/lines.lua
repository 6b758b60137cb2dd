-- SPDX-License-Identifier: Apache-2.0
-- Lines from the terminal: with editing, a history (~/.perigee_history) and completion
-- of names where Debian's lua-readline is installed and there is a terminal; else as
-- they come.

local unistd = require("posix.unistd")

local lines = {}

local STDIN = 0
local KEPT = 1000 -- lines of history

local editor -- lua-readline's module; false: there is none

-- The table that `path`, such as "engine.", leads to from the globals, and the rest.
local function table_of(path)
  local t = _G
  for name, sign in path:gmatch("([%w_]+)([.:])") do
    t = type(t) == "table" and rawget(t, name) or nil
    if type(t) ~= "table" or sign == "" then return nil end
  end
  return t
end

--- The names that `word`, as far as it is written ("engine.ma"), may become.
function lines.completions(word)
  local before, part = word:match("^(.-)([%w_]*)$")
  local t, found = table_of(before), {}
  for name in pairs(t or {}) do
    if type(name) == "string" and name:sub(1, #part) == part then
      found[#found + 1] = before .. name
    end
  end
  table.sort(found)
  return found
end

local function open_editor()
  if unistd.isatty(STDIN) ~= 1 then return false end
  local ok, readline = pcall(require, "readline")
  if not ok then return false end
  local home = os.getenv("HOME")
  readline.set_readline_name("perigee")
  readline.set_options{keeplines = KEPT, auto_add = true, ignoredups = true,
    completion = true, histfile = home and home .. "/.perigee_history" or "/dev/null"}
  readline.set_complete_function(function (text, from, to)
    return lines.completions(text:sub(from, to))
  end)
  return readline
end

--- The next line, or nil at the end.
function lines.read(prompt)
  if editor == nil then editor = open_editor() end
  if editor then return editor.readline(prompt) end
  io.write(prompt)
  io.flush()
  return io.read("*l")
end

--- No more are read: the history is kept.
function lines.finish()
  if editor then pcall(editor.save_history) end
end

return lines
