-- SPDX-License-Identifier: Apache-2.0

local owners = require("lib.hardware.owners")
local sysfs = require("lib.hardware.sysfs")

describe("owners", function ()
  it("read what a process has open", function ()
    local name = os.tmpname()
    local file = assert(io.open(name))
    local found = false
    for _, descriptor in ipairs(sysfs.entries("/proc/self/fd")) do
      found = found or sysfs.readlink("/proc/self/fd/" .. descriptor) == name
    end
    file:close()
    os.remove(name)
    assert.is_true(found)
    assert.is_nil(sysfs.readlink(name))
  end)

  it("are processes that have an IOMMU group's file open", function ()
    local proc = os.tmpname()
    os.remove(proc)
    os.execute(("mkdir -p %s/12/fd && ln -s /dev/vfio/9 %s/12/fd/3 && echo qemu > "
      .. "%s/12/comm"):format(proc, proc, proc))
    local find = owners.find{sys = "/sys", proc = proc, dev = "/dev"}
    os.execute("rm -r " .. proc)
    assert.same({{pid = 12, name = "qemu"}}, find{group = 9})
    assert.same({}, find{group = 8})
  end)
end)
