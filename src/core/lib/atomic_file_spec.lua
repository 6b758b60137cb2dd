-- SPDX-License-Identifier: Apache-2.0

local atomic_file = require("core.lib.atomic_file")
local errno = require("posix.errno")
local files = require("core.lib.files")
local stat = require("posix.sys.stat")
local testing = require("testing.support")
local unistd = require("posix.unistd")

local function text_of(path) return files.readfile(path, "*a") end

describe("a file that is replaced all at once", function ()
  local path
  before_each(function () path = os.tmpname() end)
  after_each(function () testing.remove(path) end)

  it("has the old text until all is written, and keeps its mode", function ()
    files.writefile(path, "old")
    stat.chmod(path, 416) -- rw-r-----
    local o = atomic_file.open(path)
    o:put("ne")
    assert.equal("old", text_of(path))
    o:put("w")
    o:finish()
    assert.equal("new", text_of(path))
    assert.equal(416, stat.stat(path).st_mode % 4096)
    assert.is_false(files.can_open(path .. ".new"))
  end)

  it("stays as it was when it is abandoned", function ()
    files.writefile(path, "old")
    local o = atomic_file.open(path)
    o:put("new")
    o:abandon()
    assert.equal("old", text_of(path))
    assert.is_false(files.can_open(path .. ".new"))
  end)

  it("is private where that is asked for", function ()
    os.remove(path)
    local o = atomic_file.open(path, true)
    o:finish()
    assert.equal(384, stat.stat(path).st_mode % 4096)
  end)

  -- As network file systems do.
  it("says what only close(2) has found", function ()
    local o, close = atomic_file.open(path), unistd.close
    o:put("new")
    unistd.close = function (fd) -- luacheck: ignore 122
      close(fd)
      return nil, "Input/output error", errno.EIO
    end
    local ok, problem = pcall(o.finish, o)
    unistd.close = close -- luacheck: ignore 122
    assert.is_false(ok)
    assert.equal(("can't write %s: Input/output error"):format(path), tostring(problem))
  end)

  it("keeps what it has on a full disk", function ()
    local problem = select(2, pcall(atomic_file.write, "/dev/full", "new"))
    assert.equal("can't write /dev/full: No space left on device", tostring(problem))
  end)
end)
