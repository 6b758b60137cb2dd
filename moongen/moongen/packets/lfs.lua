-- SPDX-License-Identifier: Apache-2.0
-- What libmoon's scripts use of LuaFileSystem (syscall.lfs), by luaposix.

local bit = require("bit")
local dirent = require("posix.dirent")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local lfs = {}

--- An iterator over the names in the folder; raises a sentence if it can't be read.
function lfs.dir(path)
  local ok, iterator, state = pcall(dirent.files, path)
  if not ok then
    error(("can't read the folder %s"):format(tostring(path)), 2)
  end
  return iterator, state
end

local KINDS = {directory = stat.S_ISDIR, file = stat.S_ISREG, link = stat.S_ISLNK,
  ["char device"] = stat.S_ISCHR, ["block device"] = stat.S_ISBLK,
  ["named pipe"] = stat.S_ISFIFO, socket = stat.S_ISSOCK}

local function kind_of(mode)
  for name, is in pairs(KINDS) do
    if is(mode) ~= 0 then return name end
  end
  return "other"
end

-- As ljsyscall has it: major and minor number (glibc's gnu_dev_major).
local function device(number)
  local low, high = number % 2^32, math.floor(number / 2^32)
  local major = bit.bor(bit.band(bit.rshift(low, 8), 0xfff), bit.band(high, 0xfffff000))
  local minor = bit.bor(bit.band(low, 0xff), bit.band(bit.rshift(low, 12), 0xffffff00))
  return {major = major, minor = minor, device = number}
end

local function attributes_by(get)
  return function (path, name)
    local found, message = get(path)
    if not found then return nil, message end
    local attributes = {mode = kind_of(found.st_mode), size = found.st_size,
      modification = found.st_mtime, access = found.st_atime, change = found.st_ctime,
      ino = found.st_ino, uid = found.st_uid, gid = found.st_gid,
      nlink = found.st_nlink, dev = device(found.st_dev)}
    if name then return attributes[name] end
    return attributes
  end
end

--- What the file system says of a file, a table, or one of its values; nil and a
--- sentence if it isn't there.
lfs.attributes = attributes_by(stat.stat)

--- The same of a symbolic link itself.
lfs.symlinkattributes = attributes_by(stat.lstat)

lfs.currentdir = unistd.getcwd

local function success(result, message)
  if result == 0 then return true end
  return nil, message
end

function lfs.mkdir(path) return success(stat.mkdir(path)) end
function lfs.rmdir(path) return success(unistd.rmdir(path)) end
function lfs.chdir(path) return success(unistd.chdir(path)) end

return lfs
