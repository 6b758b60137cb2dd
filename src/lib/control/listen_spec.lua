-- SPDX-License-Identifier: Apache-2.0
local listen = require("lib.control.listen")
local sockets = require("lib.sockets")
local unistd = require("posix.unistd")

describe("Where servers listen", function ()
  -- Who listens there ends before the third try.
  local function taken_over(name, text, holder)
    local real, tries = sockets[name], 0
    finally(function () sockets[name] = real end)
    sockets[name] = function (...)
      tries = tries + 1
      if tries == 3 then unistd.close(holder) end
      return real(...)
    end
    unistd.close((listen.open("--metrics", text)))
    assert.equal(3, tries)
  end

  it("is had once who listened there has ended", function ()
    local holder, port = assert(sockets.listen_tcp("127.0.0.1", 0))
    taken_over("listen_tcp", tostring(port), holder)
    local path = os.tmpname()
    os.remove(path)
    taken_over("listen_unix", "unix:" .. path, assert(sockets.listen_unix(path)))
    os.remove(path)
  end)

  it("is refused at once for another reason", function ()
    local tries, real = 0, sockets.listen_unix
    finally(function () sockets.listen_unix = real end)
    sockets.listen_unix = function (path)
      tries = tries + 1
      return real(path)
    end
    assert.has_error(function () listen.open("--metrics", "unix:/no/such/x") end,
      "--metrics unix:/no/such/x: bind: No such file or directory")
    assert.equal(1, tries)
  end)

  it("refuses what pages of others may ask", function ()
    local own, other = listen.foreign{address = "127.0.0.1"},
      listen.foreign{address = "192.0.2.1"}
    local function is_refused(refusal, host, origin)
      return refusal{headers = {host = host, origin = origin}} ~= nil
    end
    for _, host in ipairs{"127.0.0.1:80", "localhost", "[::1]:80", "monitor:9090"} do
      assert.is_false(is_refused(own, host), host)
      assert.is_true(is_refused(own, host, "http://example.org"), host)
      assert.is_false(is_refused(own, host, "http://" .. host), host)
    end
    assert.is_true(is_refused(own, "example.org"))
    assert.is_false(is_refused(other, "example.org"))
    assert.is_true(is_refused(other, "example.org", "null"))
  end)
end)
