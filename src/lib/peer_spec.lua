-- SPDX-License-Identifier: Apache-2.0
local peer = require("lib.peer")
local socket = require("posix.sys.socket")
local sockets = require("lib.sockets")
local testing = require("testing.support")
local unistd = require("posix.unistd")

-- As in proc(5); the columns between the state and the user are zeros.
local ROW = "%4d: %s %s %s 00000000:00000000 00:00000000 00000000 %5d        0 %d 1 0\n"
local TABLE = "  sl  local_address rem_address   st ...\n"
  .. ROW:format(0, "0100007F:4571", "00000000:0000", "0A", 0, 1)
  .. ROW:format(1, "0100007F:D431", "0100007F:4571", "01", 65534, 2)
  .. ROW:format(2, "0200007F:D432", "0100007F:4571", "01", 0, 3)
  .. ROW:format(3, "0100007F:D433", "0100007F:4571", "05", 0, 0) -- closed

describe("the other end of a connection", function ()
  it("is a user's process", function ()
    local path = testing.temporary(TABLE)
    assert.equal(65534, peer.user({addr = "127.0.0.1", port = 0xd431}, path))
    assert.equal(0, peer.user({addr = "127.0.0.2", port = 0xd432}, path))
    assert.is_nil(peer.user({addr = "127.0.0.1", port = 0xd432}, path))
    assert.is_nil(peer.user({addr = "::1", port = 0xd431}, path))
    assert.is_nil(peer.user({addr = "127.0.0.1", port = 0xd433}, path))
    assert.equal(unistd.geteuid() == 65534,
      peer.is_trusted({addr = "127.0.0.1", port = 0xd431}, path))
    assert.is_true(peer.is_trusted({addr = "127.0.0.2", port = 0xd432}, path))
    os.remove(path)
  end)

  it("is this one's, if it connects to itself", function ()
    local fd, port = assert(sockets.listen_tcp("127.0.0.1", 0))
    local client = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    assert(socket.connect(client, {family = socket.AF_INET, addr = "127.0.0.1",
      port = port}))
    local accepted, address = socket.accept(fd)
    for _, own in ipairs{false, accepted} do
      address.fd = own or nil
      assert.equal(unistd.geteuid(), peer.user(address))
      assert.is_true(peer.is_trusted(address))
    end
    for _, each in ipairs{fd, client, accepted} do unistd.close(each) end
  end)

  -- The kernel says root of those, whoever had them.
  it("is nobody's that has been closed", function ()
    local fd, port = assert(sockets.listen_tcp("127.0.0.1", 0))
    local client = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    assert(socket.connect(client, {family = socket.AF_INET, addr = "127.0.0.1",
      port = port}))
    unistd.write(client, "WRITE what.ever\r\n")
    unistd.close(client)
    local accepted, address = socket.accept(fd)
    for _, own in ipairs{false, accepted} do
      address.fd = own or nil
      assert.is_nil(peer.user(address))
      assert.is_false(peer.is_trusted(address))
    end
    for _, each in ipairs{fd, accepted} do unistd.close(each) end
  end)
end)
