-- SPDX-License-Identifier: Apache-2.0
-- Which running processes hold a network device: found from the files that they have
-- open, as far as this user may see them.

local sysfs = require("lib.hardware.sysfs")

local M = {}

-- Interfaces' numbers by the inodes of the packet sockets bound to them. Columns:
-- sk RefCnt Type Proto Iface R Rmem User Inode (Linux, net/packet/af_packet.c).
local function packet_sockets(roots)
  local index_of = {}
  for _, line in ipairs(sysfs.lines(roots.proc .. "/net/packet")) do
    local index, inode =
      line:match("^%S+%s+%d+%s+%d+%s+%x+%s+(%d+)%s+%d+%s+%d+%s+%d+%s+(%d+)")
    if index then index_of[inode] = tonumber(index) end
  end
  return index_of
end

local function tap_of(roots, pid, descriptor)
  local info = ("%s/%s/fdinfo/%s"):format(roots.proc, pid, descriptor)
  for _, line in ipairs(sysfs.lines(info)) do
    local name = line:match("^iff:%s*(%S+)")
    if name then return name end
  end
end

-- What an open file makes its process hold: a key for `holders`.
local function held(roots, index_of, pid, descriptor)
  local target = sysfs.readlink(("%s/%s/fd/%s"):format(roots.proc, pid, descriptor))
  if not target then return nil end
  local group = target:match("^/dev/vfio/(%d+)$")
  if group then return "group " .. group end
  local inode = target:match("^socket:%[(%d+)%]$")
  if inode and index_of[inode] then return "index " .. index_of[inode] end
  if target == "/dev/net/tun" then
    local name = tap_of(roots, pid, descriptor)
    return name and "tap " .. name
  end
end

local function processes(roots)
  local list = {}
  for _, entry in ipairs(sysfs.entries(roots.proc)) do
    if entry:match("^%d+$") then list[#list + 1] = entry end
  end
  return list
end

--- Look through all processes once. The result is a function: given a table with
--- `group` (an IOMMU group), `index` (an interface's number) or `tap` (a TAP's name)
--- it returns an array of {pid = number, name = command}, sorted by pid.
function M.find(roots)
  roots = roots or sysfs.roots
  local index_of = packet_sockets(roots)
  local holders = {}
  local function add(key, pid)
    holders[key] = holders[key] or {}
    holders[key][tonumber(pid)] = sysfs.line(("%s/%s/comm"):format(roots.proc, pid))
      or "?"
  end
  for _, pid in ipairs(processes(roots)) do
    for _, descriptor in ipairs(sysfs.entries(("%s/%s/fd"):format(roots.proc, pid))) do
      local key = held(roots, index_of, pid, descriptor)
      if key then add(key, pid) end
    end
  end
  return function(what)
    local names = {}
    for _, kind in ipairs {"group", "index", "tap"} do
      local key = what[kind] and ("%s %s"):format(kind, what[kind])
      for pid, name in pairs(holders[key] or {}) do names[pid] = name end
    end
    local list = {}
    for pid, name in pairs(names) do list[#list + 1] = {pid = pid, name = name} end
    table.sort(list, function(a, b) return a.pid < b.pid end)
    return list
  end
end

return M
