-- SPDX-License-Identifier: Apache-2.0

local other = require("program.upgrade.other")
local shm_root = require("testing.shm_root")
local signal = require("posix.signal")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait")

describe("program.upgrade.other", function ()
  local root
  before_each(function () root = shm_root.make() end)
  after_each(shm_root.remove)

  local function touch(name)
    return {exe = "/bin/touch", cwd = root, words = {"touch", name}}
  end
  local here = {environment = {}}

  it("starts a command once its number is noted", function ()
    local noted
    local pid = other.start(touch("begun"), here, function (number)
      noted = number
      assert.is_false(tree.exists(root .. "/begun"))
    end)
    assert.equal(pid, noted)
    wait.wait(pid)
    assert.is_true(tree.exists(root .. "/begun"))
  end)

  it("doesn't if its process is killed as it notes that", function ()
    local from, to = unistd.pipe()
    local killed = unistd.fork()
    if killed == 0 then -- all that has the pipe's other end has ended once it is closed
      unistd.close(from)
      local command = {exe = "/bin/sh", cwd = root, words = {"sh", "-c", "touch begun"}}
      other.start(command, here, function ()
        signal.kill(unistd.getpid(), signal.SIGKILL)
      end)
    end
    unistd.close(to)
    wait.wait(killed)
    assert.equal("", unistd.read(from, 1))
    unistd.close(from)
    assert.is_false(tree.exists(root .. "/begun"))
  end)
end)
