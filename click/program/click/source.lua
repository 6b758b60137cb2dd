-- SPDX-License-Identifier: Apache-2.0
-- Where the configuration on a command line comes from, and where text goes to.

local files = require("core.lib.files")
local stdlib = require("posix.stdlib")

local source = {}

--- The text of the configuration that the command line's `options` (file, expression)
--- name, and what messages call it; nil if it can't be read, which is reported. Without
--- a file, or for "-", it is standard input.
function source.read(options, errors)
  if options.expression then return options.file, "config" end
  local name = options.file or "-"
  if name == "-" then
    local text, why = files.rest(io.stdin)
    if not text then return errors:error("<stdin>: %s", why) end
    return text, "<stdin>"
  end
  local text, problem = files.text(name)
  if not text then return errors:error("%s", problem) end
  return text, name
end

--- Write the text to the file of that name ("-": standard output). True, or nil if it
--- can't be, which is reported: the file then keeps what it has.
function source.write(name, text, errors)
  if name == "-" then return io.write(text) and true end
  local written, problem = pcall(files.exchange, name, text)
  if written then return true end
  return errors:error("%s", (tostring(problem):gsub("^can't write ", "")))
end

--- Look for libraries in these folders (CLICKPATH), if there are any.
function source.use_clickpath(path)
  if path then stdlib.setenv("CLICKPATH", path) end
end

return source
