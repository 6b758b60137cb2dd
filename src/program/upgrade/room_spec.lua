-- SPDX-License-Identifier: Apache-2.0
-- (On a small file system: test/test_full_memory.py.)

local room = require("program.upgrade.room")
local shm_root = require("testing.shm_root")

local function check(...) room.check({...}, "upgrade x", "process 1 runs on") end

describe("program.upgrade.room", function ()
  local root
  before_each(function () root = shm_root.make() end)
  after_each(shm_root.remove)

  it("is there for what is small, and for what isn't there", function ()
    local file = assert(io.open(root .. "/file", "w"))
    file:write(("x"):rep(10000))
    file:close()
    check(root, root .. "/nothing")
  end)
end)
