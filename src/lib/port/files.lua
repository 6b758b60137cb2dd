-- SPDX-License-Identifier: Apache-2.0
-- Files and sockets that ports name: each function returns what is wrong, and what to
-- do, as the rest of a sentence, or nil.

local dead_socket = require("core.outside.dead_socket")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")
local sysfs = require("lib.hardware.sysfs")

local M = {}

-- First bytes of capture files: pcap (microseconds, nanoseconds, either byte order)
-- and pcapng's section header (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng).
local MAGIC = {
  ["\212\195\178\161"] = true, ["\161\178\195\212"] = true,
  ["\077\060\178\161"] = true, ["\161\178\060\077"] = true,
  ["\010\013\013\010"] = true,
}
local PCAP_HEADER_BYTES = 24
-- Of what is compressed (RFC 1952, gzip; RFC 8878, Zstandard): as much as is looked at.
local COMPRESSED = {["\031\139"] = true, ["\040\181"] = true}

local function directory_of(path)
  return path:match("^(.*/)[^/]*$") or "."
end

local function is(kind, path)
  local found = stat.stat(path)
  return found ~= nil and stat["S_IS" .. kind](found.st_mode) ~= 0
end

--- The directory of `path` isn't there.
function M.no_directory(path)
  local directory = directory_of(path)
  if not is("DIR", directory) then
    return ("there is no directory '%s'; make it first"):format(directory)
  end
end

--- `path` can't be read as a capture file.
function M.unreadable_capture(path)
  if not sysfs.exists(path) then
    return ("there is no file '%s' to receive from"):format(path)
  elseif is("DIR", path) then
    return ("'%s' is a directory; rx must be a capture file"):format(path)
  end
  if unistd.access(path, "r") ~= 0 then
    return ("%s: Permission denied; rx must be readable"):format(path)
  elseif not is("REG", path) then -- a pipe: reading would take bytes away, or wait
    return nil
  end
  local file, problem = io.open(path, "rb")
  if not file then return ("%s; rx must be readable"):format(problem) end
  local header = file:read(PCAP_HEADER_BYTES) or ""
  file:close()
  if not COMPRESSED[header:sub(1, 2)]
      and not (MAGIC[header:sub(1, 4)] and #header == PCAP_HEADER_BYTES) then
    return ("'%s' isn't a pcap or pcapng file"):format(path)
  end
end

--- `path` can't be written, or made.
function M.unwritable(path)
  if is("DIR", path) then
    return ("'%s' is a directory; tx must be a file"):format(path)
  elseif sysfs.exists(path) then
    if unistd.access(path, "w") ~= 0 then
      return ("'%s' can't be written; give tx another name"):format(path)
    end
    return nil
  end
  local problem = M.no_directory(path)
  if problem then return problem end
  local directory = directory_of(path)
  if unistd.access(directory, "wx") ~= 0 then
    return ("the directory '%s' can't be written; choose another for tx")
      :format(directory)
  end
end

--- Is `path` a capture file that isn't compressed?
function M.is_plain_capture(path)
  local file = is("REG", path) and io.open(path, "rb")
  if not file then return false end
  local magic = file:read(4)
  file:close()
  return MAGIC[magic] ~= nil
end

--- Is `path` a regular file, which can be read again?
function M.is_regular(path) return is("REG", path) end

--- Are these two paths one regular file?
function M.same(a, b)
  local one, other = stat.stat(a), stat.stat(b)
  return one ~= nil and other ~= nil and is("REG", a)
    and one.st_dev == other.st_dev and one.st_ino == other.st_ino
end

-- Does any process listen on the Unix socket `path`? (Flags 00010000: proc(5).)
local function listening(path, roots)
  for _, line in ipairs(sysfs.lines(roots.proc .. "/net/unix")) do
    if line:match(" 00010000 .* (%S+)$") == path then return true end
  end
  return false
end

--- The socket `path` can't be made. One that a process left behind as it ended is in
--- nobody's way: it is removed before the port is opened.
function M.socket_taken(path, roots)
  local problem = M.no_directory(path)
  if problem then return problem end
  if not sysfs.exists(path) then
    local directory = directory_of(path)
    if unistd.access(directory, "wx") ~= 0 then
      return ("the socket can't be made in '%s'; choose another directory")
        :format(directory)
    end
  elseif not is("SOCK", path) then
    return ("'%s' exists and isn't a socket; use another path"):format(path)
  elseif listening(path, roots) then
    return ("another process serves the socket '%s'; end it, or use another path")
      :format(path)
  elseif not dead_socket.is(path) then
    return ("'%s' exists, and no process is known to serve it (one in another network "
      .. "namespace may); if none does, remove it with: rm %s"):format(path, path)
  end
end

--- There is no socket `path` to connect to.
function M.no_socket(path)
  local problem = M.no_directory(path)
  if problem then return problem end
  if not is("SOCK", path) then
    return ("there is no socket '%s' to connect to; start the process that serves it"
      .. " first"):format(path)
  end
end

return M
