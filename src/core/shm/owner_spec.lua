-- SPDX-License-Identifier: Apache-2.0

local owner = require("core.shm.owner")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait")

describe("core.shm.owner", function ()
  it("names a process as no other one is named later", function ()
    local pid = unistd.getpid()
    local name = owner.name_of(pid)
    assert.equal(pid, owner.named(name))
    local namespace, start = name:match("^(%d+)/%d+/(%d+)$")
    assert.is_nil(owner.named(("%s/%d/%d"):format(namespace, pid, start + 1)))
    assert.is_nil(owner.named(("%d/%d/%s"):format(namespace + 1, pid, start)))
  end)

  it("names none that has ended", function ()
    local pid = unistd.fork()
    if pid == 0 then unistd._exit(0) end
    wait.wait(pid)
    assert.is_nil(owner.name_of(pid))
  end)

  it("takes other texts for none", function ()
    for _, text in ipairs{"", "1", "a/1/2", "1/2/3/4", "-1/-1/-1", "4711\n"} do
      assert.is_nil(owner.named(text))
    end
  end)
end)
