-- SPDX-License-Identifier: Apache-2.0
-- libmoon's log: messages with levels to standard output, and to a file if asked to.

local colors = require("moongen.colors")
local failure = require("core.failure")
local files = require("core.lib.files")
local clock = require("moongen.clock")
local own_code = require("moongen.own_code")

local log = {DEBUG = 0, INFO = 1, WARN = 2, ERROR = 3, FATAL = 4}

local COLOR = {DEBUG = "green", INFO = "white", WARN = "yellow", ERROR = "bred",
  FATAL = "red"}

log.level = log.INFO       -- the least that is printed,
log.fileLevel = log.DEBUG  -- and that goes to the file
log.fileEnabled = false
log.file = "debug.log"

-- libmoon keeps its file in log/ where there is such a folder.
for _, folder in ipairs{"../log/", "log/"} do
  local there = io.open(folder)
  if there then
    there:close()
    log.file = folder .. "debug.log"
    break
  end
end

local function level_of(name)
  return type(name) == "number" and name or log[name] or log.INFO
end

--- Print messages from this level on ("DEBUG", "INFO", "WARN", "ERROR"; default INFO).
function log:setLevel(name) self.level = level_of(name) end

--- Write messages from this level on to the file (default: all).
function log:setFileLevel(name) self.fileLevel = level_of(name or "DEBUG") end

--- Begin to write messages to the file `log.file`.
function log:fileEnable()
  self.fileEnabled = true
  self:info("Enabled logging to '%s'", self.file)
end

--- Stop writing messages to the file.
function log:fileDisable()
  self.fileEnabled = false
  self:info("Disabled logging to '%s'", self.file)
end

--- Write a line to the file, with the time of day in microseconds.
function log:writeToLog(line)
  local now = clock.unix()
  local text = ("%s.%06d %s\n"):format(os.date("%H:%M:%S", now), now % 1 * 1e6, line)
  local file, why = io.open(self.file, "a")
  if not file then failure.raise("can't write the log: %s", why) end
  files.append(file, self.file, text)
  files.close_written(file, self.file)
end

local function message(level, tag)
  return function (self, text, ...)
    local line = tag .. colors.format(text, ...)
    if log[level] >= self.level then
      local paint = colors.globals.getColorizedString
      io.stdout:write(paint(line, COLOR[level]), "\n")
      io.stdout:flush()
    end
    if self.fileEnabled and log[level] >= self.fileLevel then self:writeToLog(line) end
  end
end

log.debug = message("DEBUG", "[DEBUG] ")
log.info = message("INFO", "[INFO]  ")
log.warn = message("WARN", "[WARN]  ")
log.error = message("ERROR", "[ERROR] ")

-- The level, for log:fatal's error(), of the script's function that led there; 0, for
-- no place in the message, if there is none.
local function level_of_script()
  for level = 2, math.huge do
    local info = debug.getinfo(level + 1, "S")
    if not info then return 0 end
    if info.what ~= "C" and not own_code.is_own(info.source) then return level end
  end
end

--- End the task with an error: the message, at the place of the script.
function log:fatal(text, ...)
  local line = colors.format(text, ...)
  if self.fileEnabled then self:writeToLog("[FATAL] " .. line) end
  error(colors.globals.getColorizedString(line, COLOR.FATAL), level_of_script())
end

return log
