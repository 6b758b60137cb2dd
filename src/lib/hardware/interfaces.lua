-- SPDX-License-Identifier: Apache-2.0
-- The kernel's network interfaces, read from procfs and sysfs; changes nothing.
-- Which interfaces there are comes from /proc/net, because it always shows the
-- process's own network namespace: /sys shows that of the mount.

local bit = require("bit")
local C = require("core.native")
local sysfs = require("lib.hardware.sysfs")

local M = {}

local IFF_UP = 0x1        -- linux/if.h
local IFF_TAP = 0x2       -- linux/if_tun.h, as are the flags of "tun_flags"
local IFF_MULTI_QUEUE = 0x100
local RTF_UP = 0x1        -- linux/route.h
local RTF_REJECT = 0x200

local function attribute(roots, name, file)
  return ("%s/class/net/%s/%s"):format(roots.sys, name, file)
end

--- The names of the interfaces, sorted.
function M.names(roots)
  roots = roots or sysfs.roots
  local names = {}
  for _, line in ipairs(sysfs.lines(roots.proc .. "/net/dev")) do
    local name = line:match("^%s*([^%s:]+):")
    if name then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

--- Is there an interface of this name?
function M.exists(name, roots)
  for _, other in ipairs(M.names(roots)) do
    if other == name then return true end
  end
  return false
end

--- The interface's number, which no other interface gets while this kernel runs, or
--- nil if there is no such interface (any more). One small read.
function M.index(name, roots)
  return sysfs.number(attribute(roots or sysfs.roots, name, "ifindex"))
end

--- Has the interface been brought up? Nil if that can't be read.
function M.is_up(name, roots)
  local flags = sysfs.number(attribute(roots or sysfs.roots, name, "flags"))
  return flags and bit.band(flags, IFF_UP) ~= 0
end

-- Interfaces that have a default route in the main table, as a set. Formats:
-- proc(5), /proc/net/route, and Linux's net/ipv6/route.c, rt6_info_route().
local function default_routes(roots)
  local found = {}
  local function add(name, flags)
    flags = tonumber(flags, 16)
    if bit.band(flags, RTF_UP) ~= 0 and bit.band(flags, RTF_REJECT) == 0 then
      found[name] = true
    end
  end
  for _, line in ipairs(sysfs.lines(roots.proc .. "/net/route")) do
    local name, flags, mask = line:match("^(%S+)%s+0+%s+%x+%s+(%x+)"
      .. "%s+%S+%s+%S+%s+%S+%s+(%x+)")
    if mask and tonumber(mask, 16) == 0 then add(name, flags) end
  end
  for _, line in ipairs(sysfs.lines(roots.proc .. "/net/ipv6_route")) do
    local flags, name = line:match("^0+ 00 %x+ %x+ %x+ %x+ %x+ %x+ (%x+)%s+(%S+)")
    if name then add(name, flags) end
  end
  return found
end

--- The interface through which traffic of the default route (IPv4 or IPv6) passes
--- `name`: `name` itself, or a bridge, bond or VLAN on top of it; nil if there is none.
function M.default_route_over(name, roots)
  roots = roots or sysfs.roots
  local routes, seen = default_routes(roots), {}
  local function search(over)
    if seen[over] then return nil end
    seen[over] = true
    if routes[over] then return over end
    for _, entry in ipairs(sysfs.entries(attribute(roots, over, ""))) do
      local upper = entry:match("^upper_(.+)$")
      local found = upper and search(upper)
      if found then return found end
    end
  end
  return search(name)
end

-- The numbers of the kernel's first namespaces: linux/proc_ns.h, PROC_PID_INIT_INO, and
-- PROC_NET_INIT_INO, which kernels have from 6.18 on.
local FIRST_PID, FIRST_NET = "pid:[4026531836]", "net:[4026531833]"

--- Is the interface `name` in a network namespace that isn't the machine's own, as
--- those of containers and Mininet's hosts are? It is if the first process has another
--- one. If that can't be seen, or is the container's: if the interface leads to another
--- namespace. False if in doubt.
function M.is_apart(name, roots)
  roots = roots or sysfs.roots
  local function namespace(process, kind)
    return sysfs.readlink(("%s/%s/ns/%s"):format(roots.proc, process, kind))
  end
  local own, first = namespace("self", "net"), namespace("1", "net")
  if not own or own == FIRST_NET then return false end
  if first and first ~= own then return true end
  if first and namespace("self", "pid") == FIRST_PID then return false end
  return C.pg_iface_leads_elsewhere(name)
end

--- What is known about an interface: `name`, `driver`, `state` ("up", "down",
--- "no carrier", "unknown"), `speed` (Mbit/s or nil), `mtu` (bytes), `numa` (node or
--- nil), `address` (MAC), `index`, and for a TAP interface `is_tap`, with
--- `multi_queue` if it takes many queues.
function M.details(name, roots)
  roots = roots or sysfs.roots
  local function number(file) return sysfs.number(attribute(roots, name, file)) end
  local up, carrier, speed, numa = M.is_up(name, roots), number("carrier"),
    number("speed"), number("device/numa_node")
  local tun_flags = number("tun_flags") or 0
  local state = "unknown"
  if up == false then
    state = "down"
  elseif up then
    state = carrier == 0 and "no carrier" or "up"
  end
  return {
    name = name,
    driver = sysfs.link(attribute(roots, name, "device/driver")),
    state = state,
    speed = speed and speed > 0 and speed or nil,
    mtu = number("mtu"),
    numa = numa and numa >= 0 and numa or nil,
    address = sysfs.line(attribute(roots, name, "address")),
    index = number("ifindex"),
    is_tap = bit.band(tun_flags, IFF_TAP) ~= 0,
    multi_queue = bit.band(tun_flags, IFF_MULTI_QUEUE) ~= 0,
  }
end

return M
