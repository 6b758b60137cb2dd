-- SPDX-License-Identifier: Apache-2.0
-- A terminal that shows a page of lines at a time: ANSI escape sequences (ECMA-48), and
-- keys one by one. What was on the screen before comes back at the end.

local ffi = require("ffi")
local poll = require("posix.poll")
local termio = require("posix.termio")
local unistd = require("posix.unistd")

local terminal = {}

ffi.cdef [[
  struct perigee_winsize { unsigned short rows, columns, x, y; };
  int ioctl(int fd, unsigned long request, ...);
]]

local TIOCGWINSZ = 0x5413 -- <asm-generic/ioctls.h>
local OTHER_SCREEN, FIRST_SCREEN = "\27[?1049h\27[?25l", "\27[?25h\27[?1049l"
local HOME, ERASE_LINE, ERASE_BELOW = "\27[H", "\27[K", "\27[J"
local INVERSE, PLAIN = "\27[7m", "\27[m"

--- Are standard input and output a terminal?
function terminal.is_one()
  return unistd.isatty(0) == 1 and unistd.isatty(1) == 1
end

--- Rows and columns; 24 and 80 where the terminal doesn't say.
function terminal.size()
  local size = ffi.new("struct perigee_winsize")
  if ffi.C.ioctl(1, TIOCGWINSZ, size) ~= 0 or size.rows == 0 then return 24, 80 end
  return size.rows, size.columns
end

--- Keys come without waiting for a line's end, and aren't shown; call the result to
--- have it as before.
function terminal.open()
  local before = termio.tcgetattr(0)
  local now = termio.tcgetattr(0)
  now.lflag = bit.band(now.lflag, bit.bnot(bit.bor(termio.ICANON, termio.ECHO)))
  now.cc[termio.VMIN], now.cc[termio.VTIME] = 1, 0
  termio.tcsetattr(0, termio.TCSANOW, now)
  io.write(OTHER_SCREEN)
  return function ()
    io.write(FIRST_SCREEN)
    io.flush()
    termio.tcsetattr(0, termio.TCSANOW, before)
  end
end

local SEQUENCES = {
  A = "up", B = "down", C = "right", D = "left",
  ["5~"] = "page up", ["6~"] = "page down",
}

--- The first key in what a terminal sent, and the rest of that: a character, "up",
--- "down", "left", "right", "page up", "page down", or "escape".
function terminal.parse(text)
  local sequence, rest = text:match("^\27[%[O]([%d;]*[%a~])(.*)$")
  if sequence then return SEQUENCES[sequence] or "unknown", rest end
  if text:sub(1, 1) == "\27" then return "escape", text:sub(2) end
  return text:sub(1, 1), text:sub(2)
end

local pending = "" -- read, but not used yet

--- The key (as of `parse`) pressed within so many seconds, "end" of input, or nil.
function terminal.key(seconds)
  if pending == "" then
    local ready = poll.rpoll(0, math.max(0, math.ceil(seconds * 1e3)))
    if ready == nil or ready == 0 then return nil end
    pending = unistd.read(0, 64) or ""
    if pending == "" then return "end" end
  end
  local key
  key, pending = terminal.parse(pending)
  return key
end

-- The first so many characters of a line in UTF-8.
local function cut(line, columns)
  if #line <= columns then return line end
  local at, n = 1, 0
  while at <= #line and n < columns do
    at, n = line:find("[^\128-\191]", at + 1) or #line + 1, n + 1
  end
  return line:sub(1, at - 1)
end

--- The escape sequences that show `lines` (those whose number is in the set
--- `lines.headings` stand out) from line `first` on, and `status` at the bottom.
function terminal.page(lines, first, status, rows, columns)
  local parts = {HOME}
  for i = first, first + rows - 2 do
    local line = cut(lines[i] or "", columns)
    if lines.headings and lines.headings[i] then
      line = INVERSE .. line .. (" "):rep(math.min(80, columns) - #line) .. PLAIN
    end
    parts[#parts + 1] = line .. ERASE_LINE .. "\r\n"
  end
  parts[#parts + 1] = INVERSE .. status:sub(1, columns) .. PLAIN .. ERASE_LINE
    .. ERASE_BELOW
  return table.concat(parts)
end

return terminal
