-- SPDX-License-Identifier: Apache-2.0
-- Files under the names that configurations give: "-" is the standard input or output,
-- and compressed files are read through the programs that know them.

local files = require("core.lib.files")

local compressed = {}

local PROGRAMS = {
  ["\031\139"] = "gzip", ["BZ"] = "bzip2", ["\040\181"] = "zstd", ["\253\055"] = "xz",
}

local function quoted(path) return "'" .. path:gsub("'", "'\\''") .. "'" end

--- The path at which the content of the file `name` can be read; for compressed files
--- then nil, and what is to be closed after that. Or nil and why it can't be read.
function compressed.path(name)
  if name == "-" then return "/dev/stdin" end
  local file, problem = io.open(name, "rb")
  if not file then return nil, problem end
  local program = PROGRAMS[file:read(2) or ""]
  if not program then
    file:close()
    return name
  end
  files.keep(file)
  local pipe = io.popen(("exec %s -dc < %s"):format(program, quoted(name)))
  local function close()
    pipe:close()
    file:close()
  end
  return "/proc/self/fd/" .. require("posix.stdio").fileno(pipe), nil, {close = close}
end

--- The path to write to under the name `name`.
function compressed.output(name)
  return name == "-" and "/dev/stdout" or name
end

return compressed
