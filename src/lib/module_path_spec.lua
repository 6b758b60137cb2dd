-- SPDX-License-Identifier: Apache-2.0
local module_path = require("lib.module_path")

describe("lib.module_path", function ()
  local before
  before_each(function () before = package.path end)
  after_each(function () package.path = before end)

  it("finds modules beside a file, once, and behind all others", function ()
    package.path = "/a/?.lua"
    module_path.add_folder_of("/usr/none.lua")
    module_path.add_folder_of("/usr/other.lua")
    module_path.add_folder_of("/none.lua")
    assert.equal("/a/?.lua;/usr/?.lua;/?.lua", package.path)
  end)

  it("takes a relative path for what it is now", function ()
    package.path = "/a/?.lua"
    module_path.add_folder_of("none.lua")
    assert.equal("/a/?.lua;" .. require("posix.unistd").getcwd() .. "/?.lua",
      package.path)
  end)

  it("leaves out folders that aren't there, or have no place in a path", function ()
    package.path = "/a/?.lua"
    module_path.add_folder_of("/no/such/file.lua")
    assert.equal("/a/?.lua", package.path)
  end)
end)
