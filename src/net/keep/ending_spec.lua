-- SPDX-License-Identifier: Apache-2.0
local ending = require("net.keep.ending")
local files = require("core.lib.files")
local keep = require("net.keep.keep")
local kept = require("testing.kept")
local owner = require("core.shm.owner")
local signal = require("posix.signal")
local standby = require("net.keep.standby")
local stat = require("posix.sys.stat")
local testing = require("testing.support")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait")

describe("net.keep.ending", function ()
  local note
  before_each(function () note = testing.temporary("") end)
  after_each(function () testing.remove(note) end)

  -- A process that has the name, but no folder in shared memory any more.
  local function other()
    local pid = assert(unistd.fork())
    if pid == 0 then while true do unistd.sleep(60) end end
    files.writefile(note, owner.name_of(pid) .. "\n")
    return pid
  end

  it("waits for the process that had the name", function ()
    local pid = other()
    local await = ending.of(note)
    signal.kill(pid, signal.SIGKILL)
    await()
    local ended = wait.wait(pid, wait.WNOHANG)
    assert.equal(pid, ended)
    assert.is_nil(ending.of(note))
  end)

  it("waits for nobody where a process gave it up that runs on", function ()
    kept.set_up()
    local path = standby.holder_path(keep.folder(), keep.name())
    assert.truthy(io.open(path))
    keep.give_up()
    assert.falsy(io.open(path))
    kept.tear_down()
  end)

  it("waits for nobody where none has had it, or this process", function ()
    assert.is_nil(ending.of(note))
    ending.note(note)
    assert.is_nil(ending.of(note))
    os.remove(note)
    assert.is_nil(ending.of(note))
    assert(stat.mkfifo(note, 384)) -- of which nobody writes
    assert.is_nil(ending.of(note))
  end)
end)
