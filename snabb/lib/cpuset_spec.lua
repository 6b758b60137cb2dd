-- SPDX-License-Identifier: Apache-2.0

local cpuset = require("lib.cpuset")
local numa = require("lib.numa")
local stderr = require("testing.stderr")
local topology = require("lib.hardware.numa_topology")

describe("lib.cpuset", function()
  local cpu_get_numa_node = topology.cpu_get_numa_node
  local choose = numa.choose_numa_node_for_pci_addresses
  local set

  before_each(function()
    -- A machine of two nodes: 0-3 and 4-7.
    topology.cpu_get_numa_node = function(cpu) return math.floor(cpu / 4) end
    numa.choose_numa_node_for_pci_addresses = function() return 1 end
    set = cpuset.new()
    stderr.keep()
  end)
  after_each(function()
    topology.cpu_get_numa_node = cpu_get_numa_node
    numa.choose_numa_node_for_pci_addresses = choose
    stderr.leave()
  end)

  it("holds CPUs", function()
    set:add_from_string("2-3,5")
    set:add(0)
    assert.same({0, 2, 3, 5}, set:list())
    assert.is_true(set:contains(5))
    assert.is_false(set:contains(4))
    set:remove(5)
    assert.same({0, 2, 3}, set:list())
    assert.has_error(function() set:add(2) end, "CPU 2 is in the set already")
    assert.has_error(function() set:remove(7) end, "CPU 7 is not in the set")
  end)

  it("gives each CPU to one worker, near the devices first", function()
    set:add_from_string("1,2,5")
    assert.equal(5, set:acquire_for_pci_addresses({"01:00.0"}, "a"))
    assert.equal("", stderr.told())
    assert.equal(1, set:acquire(1, "b"))
    assert.matches("no CPU is free on NUMA node 1: worker 'b' gets CPU 1 of node 0",
      stderr.told())
    assert.equal(2, set:acquire(nil, "c"))
    assert.is_nil(set:acquire(nil, "d"))
    assert.matches("all CPUs given are in use: worker 'd' runs on any", stderr.told())
    set:release(5)
    assert.equal(5, set:acquire(0, "d"))
  end)

  it("says that it is empty", function()
    assert.is_nil(set:acquire(nil, "a"))
    assert.equal("Warning: no CPUs were given: worker 'a' runs on any\n", stderr.told())
  end)

  it("takes back only what was taken", function()
    set:add(1)
    assert.has_error(function() set:release(1) end, "CPU 1 is not taken")
    assert.has_error(function() set:release(2) end, "CPU 2 is not taken")
  end)

  it("warns when a CPU in use is removed", function()
    set:add(1)
    set:acquire()
    set:remove(1)
    assert.matches("CPU 1 is removed while a worker uses it", stderr.told())
    assert.same({}, set:list())
  end)

  it("has one pool for all programs", function()
    assert.equal(cpuset.global_cpuset(), cpuset.global_cpuset())
  end)
end)
