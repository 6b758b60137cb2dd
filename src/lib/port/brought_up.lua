-- SPDX-License-Identifier: Apache-2.0
-- Interfaces that were down until a port brought them up, which takes them down at its
-- end. A note of each is a file, locked by its process: after kill -9 the next port on
-- the interface finds it unlocked, and takes the interface down at its own end.

local ffi = require("ffi")
local dirent = require("posix.dirent")
local fcntl = require("posix.fcntl")
local run_folder = require("core.run_folder")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

ffi.cdef "unsigned if_nametoindex(const char *name);"

local M = {}

local MOST_LEFT = 64 -- of interfaces that may have gone with their network namespace
local OWN, OWN_FILE = 448, 384 -- rwx------, rw-------
local WHOLE = {l_type = fcntl.F_WRLCK, l_whence = unistd.SEEK_SET, l_start = 0,
               l_len = 0}

local held = {} -- interface -> descriptor of its note

local function folder() return run_folder.base() .. "/perigee-brought-up" end

local function namespace()
  return (unistd.readlink("/proc/self/ns/net") or ""):match("%d+") or "0"
end

-- Numbers of interfaces and namespaces are used again, names as well; not all at once.
local function path_of(name)
  return ("%s/%s-%d-%s"):format(folder(), namespace(), ffi.C.if_nametoindex(name), name)
end

-- The note, locked; or nil, as there is none, or its process lives.
local function take(path, flags)
  local fd = fcntl.open(path, fcntl.O_RDWR + fcntl.O_CLOEXEC + flags, OWN_FILE)
  if not fd then return nil end
  if fcntl.fcntl(fd, fcntl.F_SETLK, WHOLE) == 0 then return fd end
  unistd.close(fd)
end

-- Is that a note of a process that has ended?
local function is_left(path)
  local fd = take(path, 0)
  if fd then unistd.close(fd) end
  return fd ~= nil
end

-- Notes that nobody will look for: of interfaces that are gone, and the oldest.
local function prune()
  local listed, names = pcall(dirent.dir, folder())
  local left = {}
  for _, file in ipairs(listed and names or {}) do
    local space, index, name = file:match("^(%d+)%-(%d+)%-(.+)$")
    local path = folder() .. "/" .. file
    if space and not held[name] and is_left(path) then
      local gone = space == namespace()
        and ffi.C.if_nametoindex(name) ~= tonumber(index)
      if gone then unistd.unlink(path)
      else left[#left + 1] = {path = path, time = (stat.stat(path) or {}).st_mtime or 0}
      end
    end
  end
  table.sort(left, function (a, b) return a.time > b.time end)
  for i = MOST_LEFT, #left do unistd.unlink(left[i].path) end
end

--- Did a port of a process that was killed bring the interface up?
function M.is_left(name)
  return not held[name] and is_left(path_of(name))
end

--- A port is about to bring the interface up.
function M.note(name)
  stat.mkdir(folder(), OWN)
  prune()
  held[name] = take(path_of(name), fcntl.O_CREAT)
end

--- It is down again.
function M.forget(name)
  if not held[name] then return end
  unistd.unlink(path_of(name))
  unistd.close(held[name])
  held[name] = nil
end

--- The descriptor of the note of the interface, for another Lua state of the process,
--- which takes it down from now on; nil if there is none.
function M.hand_over(name)
  local fd = held[name]
  held[name] = nil
  return fd
end

--- That descriptor is ours now.
function M.take_over(name, fd) held[name] = fd end

return M
