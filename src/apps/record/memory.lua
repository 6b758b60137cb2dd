-- SPDX-License-Identifier: Apache-2.0
-- Is there memory for a ring? The kernel would give more than there is, and kill
-- somebody later.

local failure = require("core.failure")
local files = require("core.lib.files")

local memory = {}

local MIB = 1024 * 1024

-- Bytes that a line of /proc/meminfo has.
local function available()
  for _, line in ipairs(files.lines("/proc/meminfo") or {}) do
    local kib = line:match("^MemAvailable:%s+(%d+) kB")
    if kib then return tonumber(kib) * 1024 end
  end
  return math.huge
end

local function number_in(path)
  return tonumber((files.lines(path) or {})[1] or "")
end

local function own_group()
  for _, line in ipairs(files.lines("/proc/self/cgroup") or {}) do
    local group = line:match("^0::(/.*)$")
    if group then return "/sys/fs/cgroup" .. group end
  end
  return ""
end

-- What is left to this process's control group (cgroup v2), and those that it lies in.
local function left_to_group()
  local least, at = math.huge, own_group():gsub("/$", "")
  while at:find("^/sys/fs/cgroup") do
    local most = number_in(at .. "/memory.max")
    local used = number_in(at .. "/memory.current")
    if most and used then least = math.min(least, most - used) end
    at = at:match("^(.*)/[^/]*$")
  end
  return least
end

--- Bytes that this process can have.
function memory.available()
  return math.max(0, math.min(available(), left_to_group()))
end

--- Raises a failure if there aren't so many bytes for `what` ("a ring").
function memory.check(bytes, what)
  local most = memory.available()
  if bytes <= most then return end
  failure.usage("%s of %.0f MiB doesn't fit: %.0f MiB of memory are available", what,
    math.ceil(bytes / MIB), math.floor(most / MIB))
end

return memory
