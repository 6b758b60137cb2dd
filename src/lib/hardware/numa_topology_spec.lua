-- SPDX-License-Identifier: Apache-2.0

local topology = require("lib.hardware.numa_topology")

describe("parse_cpuset", function()
  local function list(text) return topology.list(topology.parse_cpuset(text)) end

  it("reads CPUs and ranges", function()
    assert.same({0, 1, 2, 3, 4, 5, 7}, list("0-5,7"))
    assert.same({1}, list("1"))
    assert.same({2, 3, 9}, list(" 9 , 2 - 3\n"))
    assert.same({}, list(""))
    assert.same({}, list("\n"))
    assert.same({4}, list("4-4"))
    assert.is_true(topology.parse_cpuset("3")[3])
  end)

  it("says what isn't one", function()
    for _, text in ipairs {"x", "1,", "3-1", "-1", "1.5", "1-", "0x1"} do
      local ok, err = pcall(topology.parse_cpuset, text)
      assert.is_false(ok)
      assert.matches("is neither a CPU (3) nor a range (1-5)", tostring(err), 1, true)
    end
  end)
end)

describe("a machine", function()
  local sysfs

  local function write(path, text)
    path = sysfs .. path
    os.execute("mkdir -p " .. path:match("^(.*)/"))
    local f = assert(io.open(path, "w"))
    f:write(text, "\n")
    f:close()
  end

  before_each(function()
    sysfs = require("posix.stdlib").mkdtemp("/tmp/topology_spec.XXXXXX")
    topology.sysfs = sysfs
  end)
  after_each(function()
    require("core.shm.tree").remove(sysfs)
    topology.sysfs = "/sys"
  end)

  it("with two nodes is seen as it is", function()
    write("/devices/system/cpu/online", "0-7")
    write("/devices/system/cpu/isolated", "2-3,7")
    write("/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave")
    write("/devices/system/node/online", "0,2")
    write("/devices/system/node/node0/cpulist", "0-3")
    write("/devices/system/node/node2/cpulist", "4-7")
    write("/bus/pci/devices/0000:01:00.0/numa_node", "2")
    write("/bus/pci/devices/0000:02:00.0/numa_node", "-1")

    assert.is_true(topology.has_numa())
    assert.same({0, 2}, topology.nodes())
    assert.same({4, 5, 6, 7}, topology.list(topology.node_cpus(2)))
    assert.same({}, topology.node_cpus(1))
    assert.equal(2, topology.cpu_get_numa_node(5))
    assert.equal(2, topology.cpu_get_numa_node("5"))
    assert.equal(0, topology.cpu_get_numa_node(99))
    assert.equal(2, topology.pci_get_numa_node("0000:01:00.0"))
    assert.equal(2, topology.pci_get_numa_node("01:00.0"))
    assert.equal(0, topology.pci_get_numa_node("0000:02:00.0"))
    assert.equal(0, topology.pci_get_numa_node("0000:ff:00.0"))
    assert.equal(0, topology.pci_get_numa_node("tap:tap0"))
    assert.same({2, 3, 7}, topology.list(topology.isolated_cpus()))
    assert.equal("powersave", topology.governor(2))
    assert.is_nil(topology.governor(0))
  end)

  it("without nodes in sysfs has one", function()
    write("/devices/system/cpu/online", "0-1")
    write("/devices/system/cpu/isolated", "")
    assert.is_false(topology.has_numa())
    assert.same({0, 1}, topology.list(topology.node_cpus(0)))
    assert.same({}, topology.node_cpus(1))
    assert.equal(0, topology.cpu_get_numa_node(1))
    assert.same({}, topology.isolated_cpus())
  end)

  it("without any sysfs has a CPU", function()
    assert.same({0}, topology.list(topology.online_cpus()))
    assert.same({}, topology.isolated_cpus())
  end)
end)
