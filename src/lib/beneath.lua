-- SPDX-License-Identifier: Apache-2.0
-- Opens files below a folder for those who may have no others. The kernel resolves the
-- name (openat2(2), Linux 5.6): neither "..", nor a symbolic link, nor one that is made
-- meanwhile leads out of the folder.

local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local ffi = require("ffi")
local unistd = require("posix.unistd")

ffi.cdef [[
  struct perigee_open_how { uint64_t flags, mode, resolve; };
  long perigee_syscall(long number, ...) __asm__("syscall");
]]

local beneath = {}

local OPENAT2 = 437                     -- on all CPUs; <asm-generic/unistd.h>
local NO_MAGIC_LINKS, BENEATH = 2, 8 -- <linux/openat2.h>
local MODE = tonumber("666", 8)
local FLAGS = {
  rb = fcntl.O_RDONLY,
  wb = fcntl.O_WRONLY + fcntl.O_CREAT + fcntl.O_TRUNC,
}

local function open(directory, name, flags)
  local how = ffi.new("struct perigee_open_how", flags + fcntl.O_CLOEXEC,
    flags == FLAGS.rb and 0 or MODE, NO_MAGIC_LINKS + BENEATH)
  local fd = tonumber(ffi.C.perigee_syscall(OPENAT2, ffi.cast("long", directory),
    ffi.cast("const char *", name), how, ffi.cast("size_t", ffi.sizeof(how))))
  if fd >= 0 then return fd end
  local number = ffi.errno()
  if number == errno.EXDEV then return nil, "it leads out of the folder" end
  return nil, (errno.errno(number))
end

-- `name` as the folder sees it: an absolute one has to begin with the folder's own.
local function relative(folder, name)
  if name:sub(1, 1) ~= "/" then return name end
  local prefix = folder:gsub("/*$", "/")
  return name:sub(1, #prefix) == prefix and name:sub(#prefix + 1):gsub("^/+", "") or nil
end

--- Open the file `name`, which lies below `folder` ("a" and "/folder/a" are the same),
--- with the mode "rb" or "wb": a file as io.open's; or nil and a sentence.
function beneath.open(folder, name, mode)
  local inner = relative(folder, name)
  if not inner or inner == "" or inner:find("%z") then
    return nil, ("'%s' isn't a file below %s"):format(name, folder)
  end
  local directory, problem = fcntl.open(folder, fcntl.O_RDONLY + fcntl.O_CLOEXEC)
  if not directory then return nil, problem end
  local fd
  fd, problem = open(directory, inner, FLAGS[mode])
  unistd.close(directory)
  if not fd then return nil, ("'%s' below %s: %s"):format(inner, folder, problem) end
  local file
  file, problem = io.open(("/proc/self/fd/%d"):format(fd), mode)
  unistd.close(fd)
  return file, problem
end

return beneath
