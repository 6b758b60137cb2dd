-- SPDX-License-Identifier: Apache-2.0
-- Colours of a terminal, under libmoon's names. Where standard output isn't a terminal
-- all codes are empty, so that no tool that reads the output meets them.

local unistd = require("posix.unistd")
local stdio = require("posix.stdio")

local M = {}

-- ECMA-48, 8.3.117: parameters of SGR.
local CODES = {
  black = "0;30", dgrey = "1;30", red = "0;31", bred = "1;31", green = "0;32",
  bgreen = "1;32", brown = "0;33", yellow = "1;33", blue = "0;34", bblue = "1;34",
  dblue = "2;34", dpurple = "0;35", bpurple = "1;35", dcyan = "0;36", cyan = "1;36",
  bgrey = "0;37", white = "1;37", none = "0",
}

--- The colours that numbers stand for, from 1 on and around.
M.colorPallet = {"blue", "bgreen", "dpurple", "bred", "brown", "cyan", "green",
  "yellow", "red"}

--- Is `file` (standard output if nil) a terminal?
function M.on(file)
  local ok, descriptor = pcall(stdio.fileno, file or io.stdout)
  return ok and descriptor ~= nil and unistd.isatty(descriptor) == 1
end

--- The escape sequence of a colour: a name, a number, or nothing for none.
function M.code(color)
  if type(color) == "number" then
    color = M.colorPallet[(color - 1) % #M.colorPallet + 1]
  end
  return "\27[" .. (CODES[color] or CODES.none) .. "m"
end

local function getColorCode(color) return M.on() and M.code(color) or "" end

local function colored(text, color)
  return getColorCode(color) .. text .. getColorCode()
end

--- The text with its values, or as it is if they don't fit: a message that has a
--- percent sign in it is still a message.
function M.format(text, ...)
  text = tostring(text)
  local ok, formatted = pcall(text.format, text, ...)
  return ok and formatted or text
end

--- libmoon's global functions, for a script's Lua state: `getColorCode(color)`,
--- `getColorizedString(text, color)`, and `red(format, ...)` and others.
M.globals = {getColorCode = getColorCode, getColorizedString = colored}
for _, name in ipairs{"red", "bred", "green", "yellow", "white"} do
  M.globals[name] = function (text, ...) return colored(M.format(text, ...), name) end
end

return M
