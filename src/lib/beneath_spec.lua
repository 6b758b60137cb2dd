-- SPDX-License-Identifier: Apache-2.0
local beneath = require("lib.beneath")
local stdlib = require("posix.stdlib")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

describe("files below a folder", function ()
  local root, folder

  setup(function ()
    root = stdlib.mkdtemp((os.getenv("TMPDIR") or "/tmp") .. "/beneath.XXXXXX")
    folder = root .. "/folder"
    stat.mkdir(folder)
    unistd.link("../outside", folder .. "/link", true)
    unistd.link("inside", folder .. "/good", true)
    unistd.link("/", folder .. "/root", true)
  end)

  teardown(function ()
    for _, name in ipairs{"link", "good", "root", "inside"} do
      os.remove(folder .. "/" .. name)
    end
    unistd.rmdir(folder)
    unistd.rmdir(root)
  end)

  local function written(name)
    local file = assert(beneath.open(folder, name, "wb"))
    file:write("text")
    file:close()
    file = assert(beneath.open(folder, name, "rb"))
    local text = file:read("*a")
    file:close()
    return text
  end

  it("are made, written anew and read", function ()
    assert.equal("text", written("inside"))
    assert.equal("text", written(folder .. "/inside"))
    assert.equal("text", written("good")) -- a link that stays below it
  end)

  it("aren't elsewhere, by whatever name", function ()
    for _, name in ipairs{"../outside", "/etc/passwd", "link", root .. "/outside",
      folder .. "er/x", folder .. "/../outside", "root/etc/passwd", "", folder,
      "/proc/self/fd/1", "a\0b"} do
      for _, mode in ipairs{"rb", "wb"} do
        local file, problem = beneath.open(folder, name, mode)
        assert.is_nil(file, name)
        assert.is_truthy(problem:find("below", 1, true), name .. ": " .. problem)
      end
    end
    assert.is_nil(io.open(root .. "/outside"))
  end)

  it("say that there is no such folder", function ()
    local file, problem = beneath.open(root .. "/none", "x", "wb")
    assert.is_nil(file)
    assert.is_truthy(problem:find("No such file or directory", 1, true), problem)
  end)
end)
