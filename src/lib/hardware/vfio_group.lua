-- SPDX-License-Identifier: Apache-2.0
-- The IOMMU groups of vfio, each of which one process can have (Linux,
-- Documentation/driver-api/vfio.rst). The kernel may still be taking one from a process
-- that was killed when the next one starts.

local C = require("core.native")
local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local owners = require("lib.hardware.owners")
local patience = require("core.lib.patience")
local sysfs = require("lib.hardware.sysfs")
local unistd = require("posix.unistd")

local M = {}

local PAUSE_SECONDS = 0.05

local function is_busy(path)
  local descriptor, _, number = fcntl.open(path, fcntl.O_RDWR + fcntl.O_CLOEXEC)
  if descriptor then unistd.close(descriptor) end
  return number == errno.EBUSY
end

local function has(list, pid)
  for _, process in ipairs(list) do
    if process.pid == pid then return true end
  end
  return false
end

--- Wait for so many seconds at most until this process can have the IOMMU group of that
--- number, or has it already. True; or false, and who has it: an array of
--- {pid =, name =}, empty if that isn't to be seen. `busy` (optional) tells of a path
--- whether it is.
function M.await(group, seconds, roots, busy)
  roots, busy = roots or sysfs.roots, busy or is_busy
  local path = ("%s/vfio/%s"):format(roots.dev, group)
  local limit = patience.new(seconds)
  while busy(path) do
    local holders = owners.find(roots){group = group}
    if has(holders, unistd.getpid()) then return true end
    if limit:over() then return false, holders end
    C.pg_sleep(PAUSE_SECONDS)
  end
  return true
end

return M
