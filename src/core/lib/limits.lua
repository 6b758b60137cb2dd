-- SPDX-License-Identifier: Apache-2.0
-- How much memory this process may use: what control groups (containers, services)
-- allow, of version 2 (Documentation/admin-guide/cgroup-v2.rst) and 1.

local limits = {}

local ROOTS = {proc = "/proc", sys = "/sys"}

local function read_number(path)
  local file = io.open(path)
  if not file then return nil end
  local number = tonumber((file:read("*l")))
  file:close()
  return number
end

-- The folders of the groups that this process is in, from its own up to the root, for
-- the controller; a container sees only the last of them.
local function folders(controller, roots)
  local list = {}
  local file = io.open(roots.proc .. "/self/cgroup")
  if not file then return list end
  for line in file:lines() do
    local names, path = line:match("^%d+:([^:]*):(.*)$")
    local is_listed = names and
      ("," .. names .. ","):find("," .. controller .. ",", 1, true)
    local tree = names == "" and "" or is_listed and "/" .. controller
    while tree and path do
      list[#list + 1] = ("%s/fs/cgroup%s%s"):format(roots.sys, tree,
        path == "/" and "" or path)
      path = path ~= "/" and path ~= "" and path:gsub("/[^/]*$", "") or nil
    end
  end
  file:close()
  return list
end

local function least(controller, names, roots)
  local smallest
  for _, folder in ipairs(folders(controller, roots or ROOTS)) do
    for _, name in ipairs(names) do
      local number = read_number(folder .. "/" .. name)
      if number and number < (smallest or 2 ^ 62) then smallest = number end
    end
  end
  return smallest
end

--- The bytes of memory that the process may use, or nil if nothing but the machine
--- limits it. `roots` (for tests) says where /proc and /sys are.
function limits.memory(roots)
  return least("memory", {"memory.max", "memory.limit_in_bytes"}, roots)
end

--- The bytes of hugepages of `kb` kB each, or nil.
function limits.hugepages(kb, roots)
  local size = kb >= 2 ^ 20 and kb / 2 ^ 20 .. "GB" or kb / 2 ^ 10 .. "MB"
  return least("hugetlb", {"hugetlb." .. size .. ".max",
    "hugetlb." .. size .. ".limit_in_bytes"}, roots)
end

return limits
