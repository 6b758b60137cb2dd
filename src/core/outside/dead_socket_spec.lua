-- SPDX-License-Identifier: Apache-2.0
local dead_socket = require("core.outside.dead_socket")
local socket = require("posix.sys.socket")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local SEQPACKET = 5

describe("core.outside.dead_socket", function ()
  local path
  before_each(function ()
    path = os.tmpname()
    os.remove(path)
  end)
  after_each(function () os.remove(path) end)

  local function bound(kind)
    local fd = assert(socket.socket(socket.AF_UNIX, kind, 0))
    assert(socket.bind(fd, {family = socket.AF_UNIX, path = path}))
    return fd
  end

  it("removes what a process has left, of either type", function ()
    for _, kind in ipairs{socket.SOCK_STREAM, SEQPACKET} do
      local fd = bound(kind)
      assert(socket.listen(fd, 1))
      assert.is_false(dead_socket.remove(path))
      unistd.close(fd)
      assert.is_true(dead_socket.remove(path))
      assert.is_nil(stat.lstat(path))
    end
  end)

  it("doesn't wait for an owner who takes no connections", function ()
    local fd = bound(socket.SOCK_STREAM)
    assert(socket.listen(fd, 0))
    local first = assert(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0))
    assert(socket.connect(first, {family = socket.AF_UNIX, path = path}))
    assert.is_false(dead_socket.is(path)) -- no more can wait
    unistd.close(first)
    unistd.close(fd)
  end)

  it("leaves other files, and what isn't there", function ()
    assert.is_false(dead_socket.remove(path))
    io.open(path, "w"):close()
    assert.is_false(dead_socket.remove(path))
    assert.is_table(stat.lstat(path))
  end)
end)
