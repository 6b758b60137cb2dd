-- SPDX-License-Identifier: Apache-2.0
-- Reading sysfs and procfs, where a file that is missing or can't be read is an
-- answer (nil), not an error. `roots` says where the trees are, so that tests can
-- bring their own.

local dirent = require("posix.dirent")
local ffi = require("ffi")
local stat = require("posix.sys.stat")

ffi.cdef"long readlink(const char *path, char *to, size_t size);"

local M = {}

--- Where the kernel's trees are mounted.
M.roots = {sys = "/sys", proc = "/proc", dev = "/dev"}

--- A file's first line without white space at its ends, or nil. (Some files of
--- sysfs exist and yet give an error when read, such as "speed" without a link.)
function M.line(path)
  local file = io.open(path, "r")
  local text = file and file:read("*l")
  if file then file:close() end
  return text and text:match("^%s*(.-)%s*$")
end

--- A file's first line as a number (decimal, or hexadecimal after "0x"), or nil.
function M.number(path)
  return tonumber(M.line(path) or "")
end

--- All of a file's lines as an array, empty if it can't be read.
function M.lines(path)
  local list = {}
  local file = io.open(path, "r")
  if not file then return list end
  for line in file:lines() do list[#list + 1] = line end
  file:close()
  return list
end

--- The names in a directory, sorted; empty if there is no such directory.
function M.entries(path)
  local names = {}
  local ok, found = pcall(dirent.dir, path)
  for _, name in ipairs(ok and found or {}) do
    if name ~= "." and name ~= ".." then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local LONGEST = 4096 -- PATH_MAX, linux/limits.h
local buffer = ffi.new("char[?]", LONGEST)

--- What a symbolic link points to, or nil. (luaposix believes the size that lstat(2)
--- tells, which is that of no link in /proc/PID/fd.)
function M.readlink(path)
  local n = tonumber(ffi.C.readlink(path, buffer, LONGEST))
  return n >= 0 and ffi.string(buffer, n) or nil
end

--- The last part of what a symbolic link points to (a driver's name, a group's
--- number), or nil.
function M.link(path)
  local target = M.readlink(path)
  return target and target:match("([^/]+)/*$")
end

--- Is there something at `path` (links are followed)?
function M.exists(path)
  return stat.stat(path) ~= nil
end

return M
