-- SPDX-License-Identifier: Apache-2.0
-- A pool of CPUs for data-plane workers to take from. The lowest free CPU of the wanted
-- NUMA node is given first.

local numa = require("lib.numa")
local topology = require("lib.hardware.numa_topology")

local cpuset = {}

local CPUSet = {}
CPUSet.__index = CPUSet

--- An empty pool. Its field by_node is NUMA node -> CPU -> is it free? (true or false)
function cpuset.new()
  return setmetatable({by_node = {}}, CPUSet)
end

local global = cpuset.new()

--- The pool that programs share.
function cpuset.global_cpuset()
  return global
end

local function warn(fmt, ...)
  io.stderr:write("Warning: ", fmt:format(...), "\n")
end

-- The CPUs of the pool `set` on the same NUMA node as `cpu`.
local function cpus_near(set, cpu)
  return set.by_node[topology.cpu_get_numa_node(cpu)] or {}
end

--- Add a CPU, which must not be in the pool.
function CPUSet:add(cpu)
  if self:contains(cpu) then error(("CPU %d is in the set already"):format(cpu), 2) end
  local node = topology.cpu_get_numa_node(cpu)
  self.by_node[node] = self.by_node[node] or {}
  self.by_node[node][cpu] = true
end

--- Add the CPUs of a text such as "1-3,5".
function CPUSet:add_from_string(text)
  for _, cpu in ipairs(topology.list(topology.parse_cpuset(text))) do self:add(cpu) end
end

--- Is the CPU in the pool, free or taken?
function CPUSet:contains(cpu)
  return cpus_near(self, cpu)[cpu] ~= nil
end

--- Take a CPU, which must be in it, out of the pool for good.
function CPUSet:remove(cpu)
  if not self:contains(cpu) then error(("CPU %d is not in the set"):format(cpu), 2) end
  local cpus = cpus_near(self, cpu)
  if cpus[cpu] == false then warn("CPU %d is removed while a worker uses it", cpu) end
  cpus[cpu] = nil
end

--- All CPUs in the pool, sorted.
function CPUSet:list()
  local all = {}
  for _, cpus in pairs(self.by_node) do
    for cpu in pairs(cpus) do all[cpu] = true end
  end
  return topology.list(all)
end

local function first_free(set, on_node)
  for _, cpu in ipairs(set:list()) do
    local node = topology.cpu_get_numa_node(cpu)
    if set.by_node[node][cpu] and (on_node == nil or node == on_node) then
      return cpu, node
    end
  end
end

--- Take a free CPU for `worker` (a name, for warnings), on the NUMA node `on_node` if
--- it can be, else on another with a warning. nil, with a warning, if none is free.
function CPUSet:acquire(on_node, worker)
  local cpu, node = first_free(self, on_node)
  if not cpu then
    cpu, node = first_free(self, nil)
    if cpu then
      warn("no CPU is free on NUMA node %d: worker '%s' gets CPU %d of node %d",
        on_node, tostring(worker), cpu, node)
    end
  end
  if not cpu then
    local why = self:list()[1] and "all CPUs given are in use" or "no CPUs were given"
    warn("%s: worker '%s' runs on any", why, tostring(worker))
    return nil
  end
  self.by_node[node][cpu] = false
  return cpu
end

--- acquire, on the NUMA node of the PCI devices `addresses`.
function CPUSet:acquire_for_pci_addresses(addresses, worker)
  return self:acquire(numa.choose_numa_node_for_pci_addresses(addresses), worker)
end

--- Give back a CPU that acquire gave.
function CPUSet:release(cpu)
  local cpus = cpus_near(self, cpu)
  if cpus[cpu] ~= false then error(("CPU %d is not taken"):format(cpu), 2) end
  cpus[cpu] = true
end

--- If all CPUs of the pool are on one NUMA node, bind this process to that node, and to
--- those CPUs of it that the kernel's scheduler uses.
function CPUSet:bind_to_numa_node()
  local nodes = {}
  for node in pairs(self.by_node) do nodes[#nodes + 1] = node end
  if #nodes ~= 1 then return end
  local cpus = topology.node_cpus(nodes[1])
  for cpu in pairs(topology.isolated_cpus()) do cpus[cpu] = nil end
  numa.bind_to_numa_node(nodes[1])
  cpus = topology.list(cpus)
  if cpus[1] then numa.bind_to_cpu(cpus, "skip the checks") end
end

return cpuset
