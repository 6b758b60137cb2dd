-- SPDX-License-Identifier: Apache-2.0

local engine = require("core.app")
local files = require("core.lib.files")
local shm = require("core.shm")
local standby = require("core.outside.standby")
local testing = require("testing.support")
local unistd = require("posix.unistd")

describe("a program's name", function ()
  after_each(function ()
    if engine.program_name then engine.unclaim_name() end
  end)

  it("is listed with the process while it is claimed", function ()
    engine.claim_name("spec1")
    assert.equal("spec1", engine.program_name)
    assert.equal(unistd.getpid(), engine.enumerate_named_programs().spec1)
    engine.claim_name("spec1")
    engine.claim_name("spec2")
    local link = shm.root .. "/by-name/spec2"
    local own = shm.root .. "/" .. unistd.getpid()
    assert.equal(own, unistd.readlink(link)) -- what `snabb ps` reads a number of
    assert.equal(link, unistd.readlink(own .. "/name"))
    local list = engine.enumerate_named_programs()
    assert.is_nil(list.spec1)
    assert.equal(unistd.getpid(), list.spec2)
    engine.unclaim_name()
    assert.is_nil(engine.enumerate_named_programs().spec2)
    assert.is_nil(unistd.readlink(own .. "/name"))
    assert.is_false(engine.program_name)
    assert.has_error(engine.unclaim_name, "this process has claimed no name")
  end)

  it("belongs to one living process", function ()
    engine.claim_name("spec1")
    local code = "print(pcall(engine.claim_name, 'spec1'))"
      .. " print(engine.enumerate_named_programs().spec1)"
      .. " engine.claim_name('spec3') print(engine.program_name)"
    local said, status = testing.script(code)
    assert.equal(0, status)
    local pid = unistd.getpid()
    assert.equal(("false\tthe name 'spec1' is taken by process %d; choose another\n"
      .. "%d\nspec3\n"):format(pid, pid), said)
    assert.is_nil(engine.enumerate_named_programs().spec3)
    engine.claim_name("spec3")
  end)

  it("is had by who takes over once the other process has ended", function ()
    local name = os.tmpname()
    local file = assert(io.open(name, "w"))
    file:write("engine.claim_name('spec4') print('claimed') io.stdout:flush() "
      .. "repeat local f = io.open('" .. name .. ".end') until f")
    file:close()
    local other = io.popen(("exec timeout 60 %s run %s"):format(
      assert(unistd.readlink("/proc/self/exe")), name))
    assert.equal("claimed", other:read("*l"))
    standby.begin(function () end)
    engine.claim_name("spec4")
    standby.pass()
    local rounds = 0
    engine.main{no_report = true, done = function ()
      rounds = rounds + 1
      if rounds == 50 then engine.claim_name("spec4") end -- it waits for that already
      return rounds == 100
    end}
    assert.is_false(engine.program_name)
    io.open(name .. ".end", "w"):close()
    engine.main{no_report = true, done = function () return engine.program_name end}
    assert.equal(unistd.getpid(), engine.enumerate_named_programs().spec4)
    other:close()
    os.remove(name)
    os.remove(name .. ".end")
  end)

  it("is had by who begins while the process before it ends", function ()
    local name, done = testing.temporary(""), testing.temporary("")
    os.remove(done)
    files.writefile(name, "engine.claim_name('spec5') print('claimed') "
      .. "io.stdout:flush() repeat until io.open('" .. done .. "')")
    local other = io.popen(("exec timeout 60 %s run %s"):format(
      assert(unistd.readlink("/proc/self/exe")), name))
    assert.equal("claimed", other:read("*l"))
    assert.error_matches(function () engine.claim_name("spec5") end, "is taken")
    standby.await(function () -- as net.keep.ending does for that process
      files.writefile(done, "")
      other:close()
    end)
    engine.claim_name("spec5")
    assert.equal("spec5", engine.program_name)
    os.remove(name)
    os.remove(done)
  end)

  it("can't be a path", function ()
    for _, name in ipairs{"", "a/b", "..", "a b", 5} do
      assert.is_false(pcall(engine.claim_name, name))
    end
  end)
end)
