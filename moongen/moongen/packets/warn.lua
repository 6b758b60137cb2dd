-- SPDX-License-Identifier: Apache-2.0
-- Warnings about what a program gave, each once a Lua state.

local said = {}

--- Log the sentence (a format and its values) as a warning, unless that was done.
return function (fmt, ...)
  local sentence = fmt:format(...)
  if said[sentence] then return end
  said[sentence] = true
  local ok, log = pcall(require, "log")
  if ok and type(log) == "table" and log.warn then
    log:warn("%s", sentence)
  else
    io.stderr:write("[WARN]  ", sentence, "\n")
  end
end
