-- SPDX-License-Identifier: Apache-2.0

local unistd = require("posix.unistd")
local kernel = require("lib.hardware.numa_kernel")
local numa = require("lib.numa")
local topology = require("lib.hardware.numa_topology")

-- The value of `field` in the kernel's account of this thread.
local function status(field)
  for line in io.lines("/proc/thread-self/status") do
    local value = line:match("^" .. field .. ":%s*(.*)$")
    if value then return value end
  end
end

local usable = topology.list(topology.parse_cpuset(status("Cpus_allowed_list")))

-- Run func in a child process, whose affinity nobody misses. Returns what it writes to
-- stderr and returns.
local function in_child(func)
  local read_end, write_end = unistd.pipe()
  local pid = unistd.fork()
  if pid == 0 then
    unistd.dup2(write_end, unistd.STDERR_FILENO)
    local _, result = pcall(func)
    io.stderr:write(tostring(result or ""))
    io.stderr:flush()
    unistd._exit(0)
  end
  unistd.close(write_end)
  local out = {}
  repeat
    local piece = unistd.read(read_end, 4096)
    out[#out + 1] = piece
  until piece == ""
  unistd.close(read_end)
  require("posix.sys.wait").wait(pid)
  return table.concat(out)
end

describe("bind_to_cpu", function()
  it("binds to a CPU, another, and none", function()
    local last = usable[#usable]
    assert.equal(usable[1] .. " " .. last .. " " .. table.concat(usable, ","),
      in_child(function()
        numa.bind_to_cpu(usable[1], true)
        local first = status("Cpus_allowed_list")
        numa.bind_to_cpu(tostring(last), true)
        local second = status("Cpus_allowed_list")
        assert(kernel.current_cpu() == last)
        numa.bind_to_cpu(nil)
        local all = topology.parse_cpuset(status("Cpus_allowed_list"))
        return ("%s %s %s"):format(first, second,
          table.concat(topology.list(all), ","))
      end))
  end)

  it("binds to a set of CPUs", function()
    assert.equal(table.concat(usable, ","), in_child(function()
      numa.bind_to_cpu(usable, true)
      local set = topology.parse_cpuset(status("Cpus_allowed_list"))
      return table.concat(topology.list(set), ",")
    end))
  end)

  it("says in a sentence what can't be had", function()
    for _, cpu in ipairs {8191, 100000, -1} do
      local sentence = in_child(function() numa.bind_to_cpu(cpu) end)
      assert.matches("can't run on CPU " .. cpu .. " (", sentence, 1, true)
      assert.matches("^[^\n]*: the CPUs online are [%d,]+$", sentence)
    end
    assert.equal("'one' is not the number of a CPU",
      in_child(function() numa.bind_to_cpu("one") end))
  end)

  it("warns of each thing once", function()
    local out = in_child(function()
      for _ = 1, 3 do
        numa.bind_to_cpu(usable[1])
        numa.unbind_cpu()
      end
    end)
    local _, count = out:gsub("isn't isolated", "")
    assert.equal(topology.isolated_cpus()[usable[1]] and 0 or 1, count)
  end)
end)

describe("PCI devices", function()
  local node_of = {a = 0, b = 1, c = 1}
  local pci_get_numa_node = topology.pci_get_numa_node
  local has_numa = topology.has_numa
  before_each(function()
    topology.pci_get_numa_node = function(address) return node_of[address] end
  end)
  after_each(function()
    topology.pci_get_numa_node, topology.has_numa = pci_get_numa_node, has_numa
  end)

  it("choose their node", function()
    assert.is_nil(numa.choose_numa_node_for_pci_addresses({}))
    assert.equal(1, numa.choose_numa_node_for_pci_addresses({"b", "c"}, true))
  end)

  it("on two nodes are a warning, or a failure if that is asked for", function()
    local sentence = "PCI devices a and b are on different NUMA nodes, 0 and 1"
    assert.equal("Warning: " .. sentence .. "\n0", in_child(function()
      return numa.choose_numa_node_for_pci_addresses({"a", "b"})
    end))
    local ok, err = pcall(numa.check_affinity_for_pci_addresses, {"a", "b"}, true)
    assert.is_false(ok)
    assert.equal(sentence, tostring(err))
  end)

  it("that don't exist are no error", function()
    topology.pci_get_numa_node = pci_get_numa_node
    assert.equal(0, numa.choose_numa_node_for_pci_addresses({"0000:ff:1f.7"}))
    assert.equal("", in_child(function()
      topology.has_numa = function() return false end
      numa.check_affinity_for_pci_addresses({"0000:ff:1f.7"})
    end))
  end)

  it("are far from unbound memory where there are nodes", function()
    topology.has_numa = function() return true end
    if kernel.get_mempolicy() ~= "default" then pending("a memory policy is set") end
    assert.equal("Warning: memory is bound to no NUMA node: bind the process to a CPU "
      .. "(--cpu)\n", in_child(function()
        numa.check_affinity_for_pci_addresses({"a"})
        numa.check_affinity_for_pci_addresses({"a"})
      end))
  end)
end)

describe("memory", function()
  it("is bound to a node and released", function()
    if not kernel.get_mempolicy() then pending("no memory policies here") end
    assert.equal("preferred default", in_child(function()
      topology.has_numa = function() return true end
      numa.bind_to_numa_node(topology.nodes()[1])
      local bound = kernel.get_mempolicy()
      numa.bind_to_numa_node(nil)
      return bound .. " " .. kernel.get_mempolicy()
    end))
  end)

  it("on a node that doesn't exist is only warned of", function()
    assert.matches("^Warning: can't take memory from NUMA node 900: ",
      in_child(function()
        topology.has_numa = function() return true end
        numa.bind_to_numa_node(900)
      end))
  end)
end)

describe("prevent_preemption", function()
  it("says why it can't", function()
    assert.matches("^can't have real%-time scheduling", in_child(function()
      numa.prevent_preemption(1000)
    end))
  end)
end)
