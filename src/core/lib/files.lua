-- SPDX-License-Identifier: Apache-2.0
-- Files, directories, shell commands. None of these changes a file it only asks about.

local C = require("core.native")
local atomic_file = require("core.lib.atomic_file")
local dirent = require("posix.dirent")
local errno = require("posix.errno")
local ffi = require("ffi")
local libgen = require("posix.libgen")
local stat = require("posix.sys.stat")
local stdio = require("posix.stdio")
local stdlib = require("posix.stdlib")
local unistd = require("posix.unistd")
local failure = require("core.lib.failure")

local files = {}

--- Can `filename` be opened with the io.open `mode` ("r" if not given)?
function files.can_open(filename, mode)
  if mode and mode:find("^w") then return files.can_write(filename) end
  local f = io.open(filename, mode or "r")
  if f then f:close() end
  return f ~= nil
end

--- Can `filename` be read?
function files.can_read(filename)
  return files.can_open(filename, "r")
end

--- Can `filename` be written, or created if there is none?
function files.can_write(filename)
  local found = stat.stat(filename)
  if not found then return unistd.access(libgen.dirname(filename), "w") == 0 end
  return stat.S_ISDIR(found.st_mode) == 0 and unistd.access(filename, "w") == 0
end

--- What f:read(what) gives of the output of the shell command.
function files.readcmd(command, what)
  local f = assert(io.popen(command))
  local value = f:read(what or "*l")
  f:close()
  return value
end

local function open(filename, mode)
  local f, err = io.open(filename, mode)
  if not f then failure.raise("can't open %s", err) end
  return f
end

--- What f:read(what) gives of the file.
function files.readfile(filename, what)
  local f = open(filename, "r")
  local value = f:read(what or "*l")
  f:close()
  return value
end

local MOST_BYTES = 256 * 2 ^ 20 -- of a text: others may not end, as /dev/zero
local PIECE = 2 ^ 20
local MOST_IN_LINE = 2 ^ 20
local line_buffer

--- What is left to read of the open file; nil and why not, which is also that it has
--- more than `most` bytes (256 MB).
function files.rest(file, most)
  local pieces, bytes = {}, 0
  most = most or MOST_BYTES
  repeat
    local piece, why = file:read(PIECE)
    if why then return nil, why end
    pieces[#pieces + 1] = piece
    bytes = bytes + #(piece or "")
    if bytes > most then
      return nil, ("it has more than %g MB"):format(most / 2^20)
    end
  until not piece
  return table.concat(pieces)
end

--- The text of the open file, which is closed; or nil and why it can't be read, with
--- its name.
function files.all_of(file, name)
  local text, why = files.rest(file)
  file:close()
  if not text then return nil, ("%s: %s"):format(name, why) end
  return text
end

--- The text of the file; or nil and why it can't be read, with its name.
function files.text(filename)
  local f, problem = io.open(filename, "rb")
  if not f then return nil, problem end
  return files.all_of(f, filename)
end

--- The next line of the open file; nil at the end. One of more than a megabyte, or one
--- that can't be read, is nil and why.
function files.line(file)
  line_buffer = line_buffer or ffi.new("char[?]", MOST_IN_LINE)
  local n = tonumber(C.pg_file_line(file, line_buffer, MOST_IN_LINE))
  if n == C.FILE_LINE_TOO_LONG then return nil, "a line has more than a megabyte" end
  if n == C.FILE_FAILED then
    return nil, "it can't be read: " .. (errno.errno(ffi.errno()))
  end
  return n >= 0 and ffi.string(line_buffer, n) or nil
end

--- The lines of the file, a list; or nil and why it can't be read, with its name.
function files.lines(filename)
  local text, why = files.text(filename)
  if not text then return nil, why end
  local list = {}
  for line in (text .. "\n"):gmatch("(.-)\n") do list[#list + 1] = line end
  if list[#list] == "" then list[#list] = nil end
  return list
end

--- Replace the file's content by `value`. Returns a true value, or nil and the reason
--- if not all of it could be written (which a kernel file says only on close).
function files.writefile(filename, value)
  local f = open(filename, "w")
  local written, write_error = f:write(value)
  local closed, close_error = f:close()
  if written and closed then return written end
  return nil, write_error or close_error
end

--- Let the file `path` hold `text`. Raises a failure if not all of it could be written,
--- which begins with "can't" and the word `verb` ("write", if none is given).
function files.replace(path, text, verb)
  local f, problem = io.open(path, "w")
  if not f then failure.raise("can't %s %s", verb or "write", problem) end
  local written, write_error = f:write(text)
  local closed, close_error = f:close()
  if not (written and closed) then
    failure.raise("can't %s %s: %s", verb or "write", path, write_error or close_error)
  end
end

--- The same, all at once (core.lib.atomic_file) where another file can be written
--- next to it: who reads it finds the old text or the new one, and on a full disk it
--- keeps what it has. In a sandbox, where only `path` may be written, that is emptied
--- first. `verb` as above.
function files.exchange(path, text, verb)
  local target = stdlib.realpath(path) or path
  if C.pg_sandboxed() or not files.can_write(target .. ".new") then
    return files.replace(path, text, verb)
  end
  local ok, problem = pcall(atomic_file.write, path, text)
  if not ok then
    failure.raise("%s", (tostring(problem):gsub("^can't write", "can't "
      .. (verb or "write"))))
  end
end

--- Write `text` to the open file called `name`, at once. Raises a failure if not all of
--- it could be written.
function files.append(file, name, text)
  local ok, problem = file:write(text)
  if ok then ok, problem = file:flush() end
  if not ok then failure.raise("can't write %s: %s", name, problem) end
end

--- Close the open file called `name`, which was written. Raises a failure where what
--- had been written is lost only then (close(2)).
function files.close_written(file, name)
  local ok, problem = file:close()
  if not ok then failure.raise("can't write %s: %s", name, problem) end
end

--- A file to write for as long as the program runs, created or emptied. Nil and a
--- reason if it can't be opened, or if this process reads it, or somebody writes it
--- already: this process, unless that ends now (`anew`), or another.
function files.create(path, anew)
  local fd = C.pg_file_create(path, 0, anew == true)
  if fd < 0 then return nil, ffi.string(C.pg_error()) end
  local file, problem = io.open(path, "wb")
  unistd.close(fd)
  if file then C.pg_file_uses(stdio.fileno(file), true) end
  return file, problem
end

--- The file is read for as long as the program runs: nobody may empty it.
function files.keep(file)
  C.pg_file_uses(stdio.fileno(file), false)
  return file
end

--- Write what a program was asked to write: to the file `path`, or with "-" to standard
--- output. Raises a failure if not all of it could be written.
function files.save(path, text)
  if path ~= "-" then return files.replace(path, text) end
  io.stdout:write(text) -- the host looks, at the end, whether that went well
end

--- The first line of the file.
function files.firstline(filename)
  return files.readfile(filename, "*l")
end

--- The target of the symbolic link `path`, or nil, the reason and errno.
function files.readlink(path)
  return unistd.readlink(path)
end

--- dirname(3) of `path`; nil of nil.
function files.dirname(path)
  return path and libgen.dirname(path)
end

--- basename(3) of `path`; nil of nil.
function files.basename(path)
  return path and libgen.basename(path)
end

--- The name, first in byte order, in the directory; nil if it has none or can't be
--- read. Hidden names don't count.
function files.firstfile(directory)
  local first
  local listed, names = pcall(dirent.dir, directory)
  for _, name in ipairs(listed and names or {}) do
    if name:sub(1, 1) ~= "." and (not first or name < first) then first = name end
  end
  return first
end

--- Is there a kernel network interface of that name in this network namespace?
function files.is_iface(name)
  for line in io.lines("/proc/net/dev") do
    if line:match("^%s*(%S+):") == name then return true end
  end
  return false
end

return require("core.lib.arguments").guard(files, "lib", {
  can_open = "string, string?", can_read = "string", can_write = "string",
  readcmd = "string", readfile = "string", writefile = "string, text",
  firstline = "string", readlink = "string", is_iface = "string",
})
