-- SPDX-License-Identifier: Apache-2.0

local unistd = require("posix.unistd")
local vfio_group = require("lib.hardware.vfio_group")

-- Busy for the first `times` that it is asked for.
local function busy_for(times)
  return function (path)
    assert.equal("/dev/vfio/9", path)
    times = times - 1
    return times >= 0
  end
end

-- A /proc with a process that has the group 9.
local function roots_of(pid)
  local proc = os.tmpname()
  os.remove(proc)
  os.execute(("mkdir -p %s/%d/fd && ln -s /dev/vfio/9 %s/%d/fd/7 && echo qemu > "
    .. "%s/%d/comm"):format(proc, pid, proc, pid, proc, pid))
  return {sys = "/sys", dev = "/dev", proc = proc}
end

describe("an IOMMU group", function ()
  it("is had as soon as the kernel has taken it back", function ()
    assert.is_true(vfio_group.await("9", 5, nil, busy_for(3)))
  end)

  it("that another process has can't be had", function ()
    local roots = roots_of(4711)
    local had, holders = vfio_group.await("9", 0.1, roots, busy_for(math.huge))
    os.execute("rm -r " .. roots.proc)
    assert.is_false(had)
    assert.same({{pid = 4711, name = "qemu"}}, holders)
  end)

  it("that this process has is not waited for", function ()
    local roots = roots_of(unistd.getpid())
    local had = vfio_group.await("9", 60, roots, busy_for(math.huge))
    os.execute("rm -r " .. roots.proc)
    assert.is_true(had)
  end)

  it("isn't busy where its file can't be opened at all", function ()
    assert.is_true(vfio_group.await("none", 60, {dev = "/nowhere", proc = "/proc"}))
  end)
end)
