-- SPDX-License-Identifier: Apache-2.0
-- CPUs, NUMA nodes and PCI devices as sysfs shows them. A machine, or container, that
-- shows no nodes has one: node 0, with all CPUs.

local failure = require("core.failure")
local split = require("core.lib.text").split
local tables = require("core.lib.tables")

local topology = {}

--- Where sysfs is mounted.
topology.sysfs = "/sys"

-- The first line of a file in sysfs, or nil.
local function read_line(path)
  local f = io.open(topology.sysfs .. path)
  local line = f and f:read("*l")
  if f then f:close() end
  return line
end

local function add_range(set, range, text)
  local low, high = range:match("^%s*(%d+)%s*%-%s*(%d+)%s*$")
  low = tonumber(low or range:match("^%s*(%d+)%s*$"))
  high = tonumber(high) or low
  if not low or low > high then
    failure.usage("'%s' in the CPU set '%s' is neither a CPU (3) nor a range (1-5)",
      range, text)
  end
  for cpu = low, high do set[cpu] = true end
end

--- The CPU set "1-3,5" as a table {[1] = true, [2] = true, [3] = true, [5] = true}.
function topology.parse_cpuset(text)
  local set = {}
  if text:find("^%s*$") then return set end
  for range in split(text, ",") do add_range(set, range, text) end
  return set
end

--- The CPUs of a set, sorted.
function topology.list(set)
  return tables.sorted_keys(set)
end

--- The set of CPUs that are online.
function topology.online_cpus()
  return topology.parse_cpuset(read_line("/devices/system/cpu/online") or "0")
end

--- The set of CPUs that the kernel's scheduler leaves alone (isolcpus).
function topology.isolated_cpus()
  return topology.parse_cpuset(read_line("/devices/system/cpu/isolated") or "")
end

--- The NUMA nodes, sorted.
function topology.nodes()
  local online = read_line("/devices/system/node/online") or "0"
  return topology.list(topology.parse_cpuset(online))
end

--- Has the machine more than one NUMA node?
function topology.has_numa()
  return #topology.nodes() > 1
end

--- The set of CPUs of a NUMA node; empty if there is no such node.
function topology.node_cpus(node)
  local cpus = read_line(("/devices/system/node/node%d/cpulist"):format(node))
  if cpus then return topology.parse_cpuset(cpus) end
  return node == 0 and topology.online_cpus() or {}
end

--- The NUMA node of a CPU; 0 if that isn't known.
function topology.cpu_get_numa_node(cpu)
  for _, node in ipairs(topology.nodes()) do
    if topology.node_cpus(node)[tonumber(cpu)] then return node end
  end
  return 0
end

--- The NUMA node of a PCI device ("0000:01:00.0" or "01:00.0"). 0 if that isn't known:
--- the device needn't exist, another port may have been put in its place.
function topology.pci_get_numa_node(address)
  address = tostring(address)
  if address:find("^%x%x:%x%x%.%x$") then address = "0000:" .. address end
  local node = tonumber(read_line("/bus/pci/devices/" .. address .. "/numa_node"))
  return math.max(node or 0, 0)
end

--- The frequency governor of a CPU; nil where the kernel doesn't set frequencies.
function topology.governor(cpu)
  return read_line(("/devices/system/cpu/cpu%d/cpufreq/scaling_governor"):format(cpu))
end

return topology
