-- SPDX-License-Identifier: Apache-2.0
-- Folders and files, as LuaFileSystem and ljsyscall name them: dir() and attributes().

local dirent = require("posix.dirent")
local stat = require("posix.sys.stat")

local lfs = {}

--- For loops: each name in the folder.
function lfs.dir(path)
  local ok, names = pcall(dirent.dir, path)
  if not ok then error(("can't read the folder '%s'"):format(path), 2) end
  table.sort(names)
  local i = 0
  return function ()
    i = i + 1
    return names[i]
  end
end

local function mode_of(st)
  if stat.S_ISREG(st.st_mode) ~= 0 then return "file" end
  return stat.S_ISDIR(st.st_mode) ~= 0 and "directory" or "other"
end

--- A table of what is known of the file: mode, size, ino, dev, modification; or the one
--- that is named. Nil and the reason if there is no such file.
function lfs.attributes(path, name)
  local st, why = stat.stat(path)
  if not st then return nil, why end
  local all = {mode = mode_of(st), size = st.st_size, ino = st.st_ino,
    dev = {device = st.st_dev}, modification = st.st_mtime}
  if name then return all[name] end
  return all
end

return lfs
