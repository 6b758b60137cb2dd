-- SPDX-License-Identifier: Apache-2.0
-- Is there room in shared memory for another process until the one that runs has ended?
-- As much as that one's folder and what it keeps take: counters and records
-- are written once more.

local dirent = require("posix.dirent")
local failure = require("core.failure")
local stat = require("posix.sys.stat")
local statvfs = require("posix.sys.statvfs").statvfs

local room = {}

local BLOCK = 512 -- of st_blocks, stat(2)

-- Count what the file or folder takes: bytes and files, by device.
local function count(path, sums)
  local found = stat.lstat(path)
  if not found then return end
  local sum = sums[found.st_dev] or {bytes = 0, files = 0, path = path}
  sums[found.st_dev] = sum
  sum.bytes, sum.files = sum.bytes + found.st_blocks * BLOCK, sum.files + 1
  if stat.S_ISDIR(found.st_mode) == 0 then return end
  local listed, names = pcall(dirent.dir, path)
  for _, name in ipairs(listed and names or {}) do
    if name ~= "." and name ~= ".." then count(path .. "/" .. name, sums) end
  end
end

local function kilobytes(bytes) return ("%d kB"):format(math.ceil(bytes / 1000)) end

-- A limit of 0 is none (tmpfs(5)).
local function check(sum)
  local system = statvfs(sum.path)
  if not system then return end
  local free = system.f_bavail * system.f_frsize
  if system.f_blocks > 0 and free < sum.bytes then
    return ("has room for %s more, and another process may need %s"):format(
      kilobytes(free), kilobytes(sum.bytes))
  elseif system.f_files > 0 and system.f_favail < sum.files then
    return ("has room for %d more files, and another process may need %d"):format(
      system.f_favail, sum.files)
  end
end

--- Raise a failure that begins with the text `begin` and ends with `rest` if there is
--- no room for what these folders have once more.
function room.check(folders, begin, rest)
  local sums = {}
  for _, folder in ipairs(folders) do count(folder, sums) end
  for _, sum in pairs(sums) do
    local problem = check(sum)
    if problem then
      failure.raise("%s: the file system of %s %s, until the old one ends: make room "
        .. "there; %s", begin, sum.path, problem, rest)
    end
  end
end

return room
