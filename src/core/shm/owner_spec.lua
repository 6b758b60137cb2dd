-- SPDX-License-Identifier: Apache-2.0

local file_lock = require("core.lib.file_lock")
local owner = require("core.shm.owner")
local shm_root = require("testing.shm_root")
local signal = require("posix.signal")
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

  -- A process that was killed, and whose parent hasn't asked how it ended.
  local function killed(folder)
    local pid = assert(unistd.fork())
    if pid == 0 then while true do unistd.sleep(60) end end
    local name = owner.name_of(pid)
    assert(unistd.link(name, folder .. "/.owner", true))
    assert.equal(pid, owner.named(name))
    assert.is_false(owner.is_gone(folder, pid))
    signal.kill(pid, signal.SIGKILL)
    local state
    repeat
      local file = assert(io.open(("/proc/%d/stat"):format(pid)))
      state = file:read("*a"):match("%) (%a)")
      file:close()
    until state == "Z"
    return pid, name
  end

  it("knows that a process that was killed has ended before it was waited for",
    function ()
      local folder = shm_root.make()
      local lock = file_lock.open(folder) -- of a fork that hasn't ended yet
      assert(file_lock.try(lock))
      local pid, name = killed(folder)
      local gone, named, again = owner.is_gone(folder, pid), owner.named(name),
        owner.name_of(pid)
      wait.wait(pid)
      unistd.close(lock)
      shm_root.remove()
      assert.same({true}, {gone, named, again})
    end)
end)
