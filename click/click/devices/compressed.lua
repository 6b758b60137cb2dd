-- SPDX-License-Identifier: Apache-2.0
-- Files under the names that configurations give: "-" is the standard input or output,
-- and compressed files are read through the programs that know them.

local files = require("core.lib.files")
local process = require("core.lib.process")
local stdio = require("posix.stdio")

local compressed = {}

local PROGRAMS = {
  ["\031\139"] = "gzip", ["BZ"] = "bzip2", ["\040\181"] = "zstd", ["\253\055"] = "xz",
}

local Unpacking = {}
Unpacking.__index = Unpacking

local function quoted(path) return "'" .. path:gsub("'", "'\\''") .. "'" end

--- The file `name`, open to be read, and for a compressed one what reads it: its `pipe`
--- has the content, and its close() closes both. Nil and why it can't be read.
function compressed.open(name)
  local file, problem = io.open(name, "rb")
  if not file then return nil, problem end
  local first, unreadable = files.keep(file):read(2)
  if unreadable then -- a folder, for one
    file:close()
    return nil, ("%s: %s"):format(name, unreadable)
  end
  local program = PROGRAMS[first or ""]
  if not program then
    file:seek("set", 0)
    return file
  end
  local pipe = io.popen(("exec %s -dc < %s 2>/dev/null"):format(program, quoted(name)))
  return file, setmetatable({name = name, program = program, file = file, pipe = pipe},
                            Unpacking)
end

--- Close it. Nil; or, if all was read (`at_end`), why that isn't the whole content.
function Unpacking:close(at_end)
  local ok, status = process.close(self.pipe)
  self.file:close()
  if ok or not at_end then return nil end
  if status == process.NO_COMMAND then
    return ("can't read %s: the program %s isn't installed"):format(self.name,
      self.program)
  end
  return ("%s: the compressed data are cut or damaged: %s ends with %s"):format(
    self.name, self.program, status and "exit status " .. status or "a signal")
end

--- The path at which the content of the file `name` can be read, and for a compressed
--- one what is to be closed after that (as of open()). Or nil and why it can't be read.
function compressed.path(name)
  if name == "-" then return "/dev/stdin" end
  local file, unpacking = compressed.open(name)
  if not file then return nil, unpacking end
  if unpacking then
    return "/proc/self/fd/" .. stdio.fileno(unpacking.pipe), unpacking
  end
  file:close()
  return name
end

--- The path to write to under the name `name`.
function compressed.output(name)
  return name == "-" and "/dev/stdout" or name
end

return compressed
