-- SPDX-License-Identifier: Apache-2.0

local file_lock = require("core.lib.file_lock")
local keep = require("net.keep.keep")
local kept = require("testing.kept")
local standby = require("net.keep.standby")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

describe("net.keep.standby", function ()
  before_each(kept.set_up)
  after_each(kept.tear_down)

  it("finds who has a name, and takes nobody for that who locks another file system's "
    .. "file of the same number", function ()
    local fd = file_lock.open(keep.folder("spec"))
    assert.equal(unistd.getpid(), standby.holder(fd))
    local file = assert(io.open("/proc/locks"))
    local locks = file:read("*a")
    file:close()
    local inode = stat.stat(keep.folder("spec")).st_ino
    local own
    for line in locks:gmatch("[^\n]*\n") do
      local mine = (" %d %%x+:%%x+:%d "):format(unistd.getpid(), inode)
      if line:find(mine) then own = line end
    end
    local other = own:gsub("%x+:%x+:", "7fff:7fff:")
      :gsub((" %d "):format(unistd.getpid()), " 1 ")
    assert.equal(unistd.getpid(), standby.holder(fd, other .. own))
    assert.is_nil(standby.holder(fd, other))
    unistd.close(fd)
  end)
end)
