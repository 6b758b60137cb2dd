-- SPDX-License-Identifier: Apache-2.0
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
end)
