-- SPDX-License-Identifier: Apache-2.0
-- (Of pid namespaces: test/test_pid_namespaces.py.)

local folders = require("core.shm.process_folders")
local owner = require("core.shm.owner")
local shm = require("core.shm")
local shm_root = require("testing.shm_root")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

-- A directory below `root` of the process with that number, which began at that time.
local function made(root, pid, namespace, start)
  assert(stat.mkdir(("%s/%d"):format(root, pid)))
  assert(stat.mkdir(("%s/%d/object"):format(root, pid)))
  assert(unistd.link(("%s/%d/%s"):format(namespace, pid, start),
    ("%s/%d/.owner"):format(root, pid), true))
end

describe("a process's directory", function ()
  local root
  before_each(function () root = shm_root.make() end)
  after_each(shm_root.remove)

  it("is left if another process has the number now", function ()
    local me = owner.myself()
    made(root, 1, me.namespace, "123456789") -- init began at 0 or soon after
    assert.equal(1, shm.sweep())
    made(root, unistd.getppid(), me.namespace, "1")
    assert.equal(1, shm.sweep())
  end)

  it("is made afresh where one of that number left it", function ()
    local me = owner.myself()
    made(root, me.pid, me.namespace, "1")
    shm.unmap(shm.create("mine", "int[1]"))
    assert.same({"mine"}, shm.children(""))
    assert.is_true(owner.is_mine(("%s/%d"):format(root, me.pid)))
  end)

  it("of this process is made again if somebody removes it", function ()
    shm.unmap(shm.create("a", "int[1]"))
    shm.unlink("/" .. unistd.getpid())
    shm.unmap(shm.create("b/c", "int[1]"))
    assert.same({"b"}, shm.children(""))
    assert.is_true(owner.is_mine(("%s/%d"):format(root, unistd.getpid())))
    assert.equal(0, shm.sweep())
  end)

  it("holds one descriptor", function ()
    local function count()
      local n = 0
      for _ in require("posix.dirent").files("/proc/self/fd") do n = n + 1 end
      return n
    end
    shm.unmap(shm.create("a", "int[1]"))
    local before = count()
    for _ = 1, 3 do
      folders.claim(root)
      shm.cleanup()
      shm.unmap(shm.create("a", "int[1]"))
      shm.sweep()
    end
    assert.equal(before, count())
  end)
end)
