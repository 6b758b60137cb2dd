-- SPDX-License-Identifier: Apache-2.0
-- Binds the engine to a CPU and its memory to that CPU's NUMA node, and warns, once of
-- each thing and on stderr, of what will cost speed. Machines of one node need nothing
-- of the second part, and none of it fails there.

local failure = require("core.failure")
local split = require("core.lib.text").split
local kernel = require("lib.hardware.numa_kernel")
local topology = require("lib.hardware.numa_topology")

local numa = {
  parse_cpuset = topology.parse_cpuset,
  node_cpus = topology.node_cpus,
  isolated_cpus = topology.isolated_cpus,
  cpu_get_numa_node = topology.cpu_get_numa_node,
  pci_get_numa_node = topology.pci_get_numa_node,
  has_numa = topology.has_numa,
}

local bound_cpus -- "1,2", or nil
local bound_node -- a number, or nil

local warned = {}

local function warn(fmt, ...)
  local sentence = fmt:format(...)
  if warned[sentence] then return end
  warned[sentence] = true
  io.stderr:write("Warning: ", sentence, "\n")
end

--- The NUMA node of the PCI devices `addresses` (an array; nil if it is empty). If they
--- are on several, the first one's, with a warning; or a usage failure if
--- `require_affinity`.
function numa.choose_numa_node_for_pci_addresses(addresses, require_affinity)
  local chosen, chosen_for
  for _, address in ipairs(addresses) do
    local node = topology.pci_get_numa_node(address)
    if not chosen then
      chosen, chosen_for = node, address
    elseif node ~= chosen then
      local complain = require_affinity and failure.usage or warn
      complain("PCI devices %s and %s are on different NUMA nodes, %d and %d",
        chosen_for, address, chosen, node)
    end
  end
  return chosen
end

--- Warn if this process's memory isn't on the NUMA node of the PCI devices `addresses`.
--- With `require_affinity`, devices on different nodes are a usage failure.
function numa.check_affinity_for_pci_addresses(addresses, require_affinity)
  local node = numa.choose_numa_node_for_pci_addresses(addresses, require_affinity)
  if not topology.has_numa() then return end
  local policy = kernel.get_mempolicy()
  if policy == "default" or policy == "local" then
    warn("memory is bound to no NUMA node: bind the process to a CPU (--cpu)")
  elseif policy == "interleave" or policy == "other" then
    warn("the NUMA memory policy in effect is neither to bind nor to prefer a node")
  elseif policy and node then
    local here = topology.cpu_get_numa_node(kernel.current_cpu())
    if here ~= node then
      warn("this process runs on NUMA node %d, but its PCI devices are on node %d",
        here, node)
    end
  end
end

local function irqbalance_runs()
  for directory in split(os.getenv("PATH") or "", ":") do
    local f = io.open(directory .. "/irqbalance")
    if f then
      f:close()
      local defaults = io.open("/etc/default/irqbalance")
      local text = defaults and defaults:read("*a") or ""
      if defaults then defaults:close() end
      return not text:find("ENABLED=\"?0")
    end
  end
  return false
end

local function check_performance(cpu)
  if irqbalance_runs() then
    warn("irqbalance moves interrupts to busy CPUs: stop or uninstall it")
  end
  local governor = topology.governor(cpu)
  if governor and governor ~= "performance" then
    warn("CPU %d has the frequency governor '%s', not 'performance'", cpu, governor)
  end
  if not topology.isolated_cpus()[cpu] then
    warn("CPU %d isn't isolated: the kernel may run other work on it (isolcpus=%d)",
      cpu, cpu)
  end
end

--- Undo bind_to_cpu, and a taskset around this process: run on any CPU.
function numa.unbind_cpu()
  local ok, reason = kernel.clear_affinity()
  if not ok then failure.raise("can't unbind from the CPU: %s", reason) end
  bound_cpus = nil
end

local function to_cpus(cpu)
  local cpus = {}
  for i, each in ipairs(type(cpu) == "table" and cpu or {cpu}) do
    cpus[i] = tonumber(each)
      or failure.usage("'%s' is not the number of a CPU", tostring(each))
  end
  return cpus
end

--- Run only on the CPU `cpu` (a number, or an array of them; nil unbinds), take memory
--- from its NUMA node, and warn of what makes that CPU slow unless `skip_perf_checks`.
--- A CPU that can't be had is a usage failure.
function numa.bind_to_cpu(cpu, skip_perf_checks)
  if not cpu then return numa.unbind_cpu() end
  local cpus = to_cpus(cpu)
  local names = table.concat(cpus, ",")
  if names == bound_cpus then return end
  local ok, reason = kernel.set_affinity(cpus)
  if not ok then
    failure.usage("can't run on CPU %s (%s): the CPUs online are %s",
      names, reason, table.concat(topology.list(topology.online_cpus()), ","))
  end
  bound_cpus = names
  local here = kernel.current_cpu()
  numa.bind_to_numa_node(topology.cpu_get_numa_node(here))
  if not skip_perf_checks then check_performance(here) end
end

--- Undo bind_to_numa_node, and a numactl around this process.
function numa.unbind_numa_node()
  bound_node = nil
  if not topology.has_numa() then return end
  local ok, reason = kernel.set_mempolicy("default")
  if not ok then warn("can't undo the NUMA memory policy: %s", reason) end
end

local function migrate(node)
  local others = {}
  for _, other in ipairs(topology.nodes()) do
    if other ~= node then others[#others + 1] = other end
  end
  local ok, reason = kernel.migrate_pages(others, node)
  if not ok then warn("memory stays on other NUMA nodes than %d: %s", node, reason) end
end

--- Take memory from the NUMA node `node` (nil unbinds) by `policy`, "preferred" or
--- "bind", and move what is already taken there. What the kernel refuses is warned of.
function numa.bind_to_numa_node(node, policy)
  if not node then return numa.unbind_numa_node() end
  if node == bound_node then return end
  bound_node = node
  if not topology.has_numa() then return end
  local ok, reason = kernel.set_mempolicy(policy or "preferred", node)
  if ok then
    migrate(node)
  else
    warn("can't take memory from NUMA node %d: %s", node, reason)
  end
end

--- Make this thread a real-time one of priority `priority` (1), 1 to 99.
function numa.prevent_preemption(priority)
  local ok, reason = kernel.set_fifo(priority or 1)
  if not ok then
    failure.raise("can't have real-time scheduling (%s): it needs root and a "
      .. "priority from 1 to 99", reason)
  end
end

return numa
