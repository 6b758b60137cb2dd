-- SPDX-License-Identifier: Apache-2.0
local socket = require("posix.sys.socket")
local unistd = require("posix.unistd")
local http = require("moongen.web.http")

-- What the server answers to this text.
local function ask(text, handle)
  local server = assert(http.listen("127.0.0.1", 0))
  local fd = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
  assert(socket.connect(fd, {family = socket.AF_INET, addr = "127.0.0.1",
    port = server.port}))
  socket.send(fd, text)
  socket.shutdown(fd, socket.SHUT_WR)
  assert.is_true(http.serve(server, 5, handle))
  local answer = ""
  for data in function () return socket.recv(fd, 4096) end do
    if data == "" then break end
    answer = answer .. data
  end
  unistd.close(fd)
  http.close(server)
  return answer
end

describe("http", function ()
  it("answers a request", function ()
    local asked
    local text = ask(
      "POST /a/b?c=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody",
      function (request)
        asked = request
        return 200, '{"a":1}'
      end)
    assert.same({"POST", "/a/b", "c=1", "body", "x"}, {asked.method, asked.path,
      asked.query, asked.body, asked.headers.host})
    assert.truthy(text:find("^HTTP/1.1 200 OK\r\n"))
    assert.truthy(text:find('Content%-Length: 7\r\n.*\r\n\r\n{"a":1}$'))
  end)

  it("refuses what isn't HTTP, and drops what ends early", function ()
    local function never() error("asked") end
    assert.truthy(ask("hello\r\n\r\n", never):find("^HTTP/1.1 400 "))
    assert.truthy(ask("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", never)
      :find(" 400 "))
    assert.truthy(ask("GET / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", never)
      :find(" 413 "))
    assert.equal("", ask("GET / HTTP/1.1\r\nConte", never))
    assert.equal("", ask("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nshort", never))
  end)

  it("doesn't wait for ever for a peer", function ()
    local server = assert(http.listen("127.0.0.1", 0))
    assert.is_false(http.serve(server, 0, error))
    http.close(server)
  end)

  it("says what is wrong with an address", function ()
    local server, problem = http.listen("192.0.2.1", 80)
    assert.is_nil(server)
    assert.truthy(problem)
  end)
end)
