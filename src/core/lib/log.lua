-- SPDX-License-Identifier: Apache-2.0
-- What the process says of itself, on stderr: sentences with a level, each a line. In
-- which form, the option --log-format says.

local ffi = require("ffi")
local declarations = require("core.declarations")
local stat = require("posix.sys.stat")

local log = {}

declarations.read(declarations.find("native/log.h"))
local C = ffi.C

--- The forms, by their names: "perigee: SENTENCE"; with the time and the level; as an
--- object in JSON; with the level as sd-daemon(3) has it, for the journal.
log.FORMATS = {text = C.LOG_TEXT, timed = C.LOG_TIMED, json = C.LOG_JSON,
               journal = C.LOG_JOURNAL}
--- Levels by their names, the gravest has the lowest number.
log.LEVELS = {error = C.LOG_ERROR, warning = C.LOG_WARNING, info = C.LOG_INFO}

local format, most = "text", "info"
local details = false -- has the user asked for all there is?

--- From now on say what is of the level `level` or graver in the form `form`; nil: as
--- before. C code follows.
function log.begin(form, level)
  format, most = form or format, level or most
  details = level == "info" or level == nil and details
  C.pg_log_begin(log.FORMATS[format], log.LEVELS[most])
end

--- Does stderr go to systemd's journal ($JOURNAL_STREAM, systemd.exec(5))?
function log.is_of_journal()
  local device, inode = (os.getenv("JOURNAL_STREAM") or ""):match("^(%d+):(%d+)$")
  local found = device and stat.stat("/proc/self/fd/2")
  return found ~= nil and found.st_dev == tonumber(device)
    and found.st_ino == tonumber(inode)
end

local function say(level, fmt, ...)
  local sentence = fmt:format(...)
  if log.LEVELS[level] > log.LEVELS[most] then return end
  io.stdout:flush()
  if format == "text" then
    io.stderr:write("perigee: " .. sentence .. "\n")
  else
    C.pg_log(log.LEVELS[level], sentence)
  end
end

--- Something has failed. Arguments as for string.format.
function log.error(...) say("error", ...) end

--- Something isn't as it should be, and the process goes on.
function log.warning(...) say("warning", ...) end

--- Something has changed.
function log.info(...) say("info", ...) end

--- What is worth knowing once: said if the user asks for it (--log-level info), not at
--- each start.
function log.detail(...)
  if details then say("info", ...) end
end

return log
