-- SPDX-License-Identifier: Apache-2.0
local fake_tree = require("testing.fake_tree")
local limits = require("core.lib.limits")

describe("limits of control groups", function ()
  local tree
  before_each(function () tree = fake_tree.new() end)
  after_each(function () tree.remove() end)

  it("are the least from the process's group up to the root", function ()
    tree.write("proc/self/cgroup", "0::/a/b\n")
    tree.write("sys/fs/cgroup/a/b/memory.max", "max\n")
    tree.write("sys/fs/cgroup/a/memory.max", "1073741824\n")
    tree.write("sys/fs/cgroup/a/hugetlb.2MB.max", "4194304\n")
    assert.equal(2^30, limits.memory(tree.roots))
    assert.equal(2^22, limits.hugepages(2048, tree.roots))
    assert.is_nil(limits.hugepages(1048576, tree.roots))
  end)

  it("are seen in a container, whose group is the root", function ()
    tree.write("proc/self/cgroup", "0::/\n")
    tree.write("sys/fs/cgroup/memory.max", "2000000\n")
    assert.equal(2000000, limits.memory(tree.roots))
  end)

  it("are found in version 1", function ()
    tree.write("proc/self/cgroup", "5:cpu,memory:/docker/x\n1:name=systemd:/\n")
    tree.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    assert.is_nil(limits.memory(tree.roots))
    tree.write("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "5000000\n")
    assert.equal(5000000, limits.memory(tree.roots))
  end)

  it("may not be there", function ()
    assert.is_nil(limits.memory(tree.roots))
    tree.write("proc/self/cgroup", "0::/a\n")
    assert.is_nil(limits.memory(tree.roots))
  end)
end)
