-- SPDX-License-Identifier: Apache-2.0
-- What a terminal shows while a program works for over a second and has nothing else to
-- say: a line on standard error, which is rewritten, and gone at the end. Where that is
-- no terminal, nothing. (lib.progress shows runs of the engine.)

local C = require("core.native")
local comma_value = require("core.lib.values").comma_value
local stdio = require("posix.stdio")
local unistd = require("posix.unistd")

local waiting = {}

local FIRST_SECONDS = 1 -- before that nothing is shown
local APART_SECONDS = 0.25
local ERASE_LINE = "\r\27[K"

local Waiting = {}
Waiting.__index = Waiting

--- Begin to wait for `what`, such as "reading a.pcap". `options` are for tests: stream,
--- terminal = is it one?, now() in seconds.
function waiting.start(what, options)
  options = options or {}
  local stream, now = options.stream or io.stderr, options.now or C.pg_monotonic
  local terminal = options.terminal
  if terminal == nil then terminal = unistd.isatty(stdio.fileno(stream)) == 1 end
  return setmetatable({what = what, stream = stream, now = now, terminal = terminal,
    began = now(), due = now() + FIRST_SECONDS}, Waiting)
end

local function amount(done, total, unit)
  if total and total > 0 and unit == "s" then
    return ("%.0f of %.0f s"):format(math.min(done, total), total)
  elseif total and total > 0 then
    return ("%.0f %%"):format(100 * math.min(1, done / total))
  end
  return ("%s %s"):format(comma_value(("%.0f"):format(done)), unit or "")
end

--- So much is `done`, of `total` (nil: nobody knows), in `unit` ("packets"; "s"). May
--- be called often: it shows something four times a second.
function Waiting:show(done, total, unit)
  if not self.terminal then return end
  local now = self.now()
  if now < self.due then return end
  self.due, self.shown = now + APART_SECONDS, true
  local seconds = unit ~= "s" and (" (%.0f s)"):format(now - self.began) or ""
  self.stream:write(ERASE_LINE, (self.what:gsub("%c", "?")), ": ",
    amount(done, total, unit), seconds)
  self.stream:flush()
end

--- It is over: the line is erased.
function Waiting:finish()
  if self.shown then
    self.stream:write(ERASE_LINE)
    self.stream:flush()
  end
  self.shown, self.terminal = nil, false
end

return waiting
