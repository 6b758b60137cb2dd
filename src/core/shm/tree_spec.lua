-- SPDX-License-Identifier: Apache-2.0
local stat = require("posix.sys.stat")
local stdlib = require("posix.stdlib")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local function read(path)
  local file = io.open(path)
  local text = file and file:read("*a")
  if file then file:close() end
  return text
end

describe("core.shm.tree tells a line of text", function ()
  local folder, path

  before_each(function ()
    folder = stdlib.mkdtemp("/tmp/perigee-spec.XXXXXX")
    path = folder .. "/line"
  end)

  after_each(function ()
    unistd.unlink(path)
    unistd.rmdir(folder)
  end)

  it("for this user alone", function ()
    tree.tell(path, "waits for master")
    assert.equal("waits for master\n", read(path))
    assert.equal(tree.file_mode(), stat.stat(path).st_mode % 512)
  end)

  it("which who has begun to read finds whole", function ()
    tree.tell(path, "one")
    local before = io.open(path)
    tree.tell(path, "another")
    assert.equal("one\n", before:read("*a"))
    before:close()
    assert.equal("another\n", read(path))
    assert.is_nil(stat.stat(path .. ".new"))
  end)

  it("or none where there is no room", function ()
    tree.tell(folder .. "/missing/line", "text")
    assert.is_nil(read(folder .. "/missing/line"))
  end)
end)
