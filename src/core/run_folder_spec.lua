-- SPDX-License-Identifier: Apache-2.0
local file_lock = require("core.lib.file_lock")
local run_folder = require("core.run_folder")
local stat = require("posix.sys.stat")
local stdlib = require("posix.stdlib")
local unistd = require("posix.unistd")

describe("core.run_folder", function ()
  local given = os.getenv("RUNTIME_DIRECTORY")
  local folder

  before_each(function () folder = stdlib.mkdtemp("/tmp/perigee-spec.XXXXXX") end)
  after_each(function ()
    unistd.rmdir(folder .. "/inner")
    unistd.rmdir(folder)
    stdlib.setenv("RUNTIME_DIRECTORY", given)
  end)

  it("is the last of a service's folders", function ()
    stat.mkdir(folder .. "/inner")
    stdlib.setenv("RUNTIME_DIRECTORY", folder .. ":" .. folder .. "/inner")
    assert.equal(folder .. "/inner", run_folder.base())
    assert.equal(folder .. "/inner", os.getenv("RUNTIME_DIRECTORY"))
  end)

  it("leaves out those that can't be written to", function ()
    stdlib.setenv("RUNTIME_DIRECTORY", folder .. ":" .. folder .. "/inner")
    assert.equal(folder, run_folder.base())
    assert.equal(folder, os.getenv("RUNTIME_DIRECTORY"))
  end)

  it("isn't a service's where there is none", function ()
    stdlib.setenv("RUNTIME_DIRECTORY", folder .. "/inner")
    assert.not_equal(folder .. "/inner", run_folder.base())
    assert.is_nil(os.getenv("RUNTIME_DIRECTORY"))
  end)

  it("loses what dead processes of any pid namespace left there, if empty", function ()
    local dpdk = folder .. "/dpdk"
    local function make(name)
      stat.mkdir(dpdk .. "/" .. name)
      return dpdk .. "/" .. name
    end
    stdlib.setenv("RUNTIME_DIRECTORY", folder)
    stat.mkdir(dpdk)
    local lives, died = make("perigee-1-17"), make("perigee-1-18")
    local full = make("perigee-2-18")
    local other, inner = make("rte"), make("perigee-2-18/inner")
    local lock = file_lock.open(lives)
    assert.is_true(file_lock.try(lock))
    local function there(path) return unistd.access(path, "f") == 0 end
    run_folder.prepare(false)
    assert.same({true, false, true, true}, {there(lives), there(died), there(full),
      there(other)})
    assert.is_false(there(dpdk .. "/" .. run_folder.name()))
    unistd.close(lock)
    unistd.rmdir(inner)
    run_folder.prepare(false)
    assert.same({false, false}, {there(lives), there(full)})
    unistd.rmdir(other)
    unistd.rmdir(dpdk)
  end)
end)
