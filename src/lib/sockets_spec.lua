-- SPDX-License-Identifier: Apache-2.0
local errno = require("posix.errno")
local socket = require("posix.sys.socket")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")
local sockets = require("lib.sockets")

-- A session that sends back what it gets, in capitals.
local function echo()
  local session = {output = {"hello\n"}, outgoing = 6}
  function session:receive(data)
    self.at_end = data == nil
    self.last = data
  end
  function session:work()
    if self.last then
      table.insert(self.output, self.last:upper())
      self.outgoing = self.outgoing + #self.last
    end
    self.done, self.last = self.at_end or self.wants_end, nil
  end
  return session
end

local function connect(address)
  local fd = assert(socket.socket(address.family, socket.SOCK_STREAM, 0))
  assert(socket.connect(fd, address))
  return fd
end

-- Read `n` bytes, while the server works.
local function read(server, fd, n)
  local got, deadline = "", os.time() + 10
  while #got < n and os.time() < deadline do
    server:poll()
    if require("posix.poll").rpoll(fd, 1) == 1 then
      local data = assert(unistd.read(fd, n - #got))
      if data == "" then break end
      got = got .. data
    end
  end
  return got
end

describe("servers that don't wait", function ()
  it("listen at TCP ports, the next free one if that is wanted", function ()
    local fd, port = assert(sockets.listen_tcp("127.0.0.1", 0))
    assert.is_true(port > 0)
    assert.same({nil, "bind: Address already in use", errno.EADDRINUSE},
      {sockets.listen_tcp("127.0.0.1", port)})
    local other, next_port = sockets.listen_tcp("127.0.0.1", port, true)
    assert.is_true(next_port > port and next_port <= port + 10)
    unistd.close(other)
    unistd.close(fd)
  end)

  it("know their port, however often they are asked", function ()
    for _ = 1, 100 do
      local fd, port = assert(sockets.listen_tcp("127.0.0.1", 0))
      local client = connect{family = socket.AF_INET, addr = "127.0.0.1", port = port}
      unistd.close(client)
      unistd.close(fd)
    end
  end)

  it("serve several clients", function ()
    local log = {}
    local fd, port = assert(sockets.listen_tcp("127.0.0.1", 0))
    local server = sockets.server(fd, echo, function (line) log[#log + 1] = line end)
    assert.is_false(server:poll())
    local a = connect{family = socket.AF_INET, addr = "127.0.0.1", port = port}
    local b = connect{family = socket.AF_INET, addr = "127.0.0.1", port = port}
    assert.equal("hello\n", read(server, a, 6))
    assert.equal("hello\n", read(server, b, 6))
    unistd.write(b, "abc")
    assert.equal("ABC", read(server, b, 3))
    assert.is_true(server:busy())
    unistd.close(a)
    local deadline = os.time() + 10
    while #log < 3 and os.time() < deadline do server:poll() end
    assert.truthy(log[1]:find("^opened connection %d+ from 127.0.0.1%.%d+$"))
    assert.truthy(log[3]:find("^closed connection %d+$"))
    server:close()
    assert.equal("", read(server, b, 1))
    assert.is_false(server:busy())
    unistd.close(b)
  end)

  it("send what a client takes slowly", function ()
    local fd, port = assert(sockets.listen_tcp("127.0.0.1", 0))
    local long = ("x"):rep(8 * 1024 * 1024)
    local server = sockets.server(fd, function ()
      local session = echo()
      session.output, session.outgoing, session.wants_end = {long}, #long, true
      return session
    end)
    local a = connect{family = socket.AF_INET, addr = "127.0.0.1", port = port}
    assert.equal(long, read(server, a, #long))
    server:close()
    unistd.close(a)
  end)

  it("have nothing to do while a session goes on whose client has gone", function ()
    local path, works = os.tmpname(), 0
    os.remove(path)
    local server = sockets.server(assert(sockets.listen_unix(path)), function ()
      local session = {output = {}, outgoing = 0}
      function session:receive(data) self.at_end = data == nil end
      function session.work() works = works + 1 end
      return session
    end)
    local a = connect{family = socket.AF_UNIX, path = path}
    assert.is_true(server:poll())
    unistd.close(a)
    assert.is_true(server:poll())
    local before = works
    assert.is_false(server:poll())
    assert.is_true(server:busy() and works > before)
    server:close()
    os.remove(path)
  end)

  -- A client at another address of this machine's.
  local function from(address, port)
    local fd = assert(socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0))
    assert(socket.bind(fd, {family = socket.AF_INET, addr = address, port = 0}))
    local to = {family = socket.AF_INET, addr = "127.0.0.1", port = port}
    assert(socket.connect(fd, to))
    return fd
  end

  it("take so many clients at a time, and the next ones then", function ()
    local path = os.tmpname()
    os.remove(path)
    local seen = 0
    local server = sockets.server(sockets.listen_unix(path), echo, nil, function ()
      seen = seen + 1
      -- As fast as one is refused another comes.
      if seen < 300 then
        local fd = assert(sockets.connect_unix(path))
        unistd.close(fd)
      end
      return false
    end)
    local first = assert(sockets.connect_unix(path))
    unistd.close(first)
    server:poll()
    assert.is_true(seen < 200, seen)
    server:poll()
    server:poll()
    assert.equal(300, seen)
    server:close()
    os.remove(path)
  end)

  it("let the oldest idle client of an address go for its next", function ()
    local fd, port = assert(sockets.listen_tcp("127.0.0.1", 0))
    local server = sockets.server(fd, function ()
      local session = echo()
      session.output, session.outgoing = {}, 0
      function session.is_idle() return not session.asked end
      local receive = session.receive
      function session:receive(data)
        self.asked = data ~= nil
        receive(self, data)
      end
      return session
    end)
    local asking = from("127.0.0.1", port)
    unistd.write(asking, "first")
    assert.equal("FIRST", read(server, asking, 5))
    local clients = {}
    for i = 1, 40 do
      clients[i] = from("127.0.0.1", port)
      server:poll()
    end
    local other = from("127.0.0.2", port)
    unistd.write(other, "x")
    assert.equal("X", read(server, other, 1))
    for i = 1, 40 do -- 31 of these are left, beside the one that has asked
      unistd.write(clients[i], "y")
      local alive = i > 40 - 31
      assert.equal(alive and "Y" or "", read(server, clients[i], 1), i)
    end
    unistd.write(asking, "again")
    assert.equal("AGAIN", read(server, asking, 5))
    for _, client in ipairs(clients) do unistd.close(client) end
    unistd.close(asking)
    unistd.close(other)
    server:close()
  end)

  it("have Unix sockets of their own, and replace what was left", function ()
    local path = os.tmpname()
    os.remove(path)
    local fd = assert(sockets.listen_unix(path))
    assert.equal(tonumber("600", 8), stat.stat(path).st_mode % 512)
    assert.same({nil, "bind: Address already in use", errno.EADDRINUSE},
      {sockets.listen_unix(path)})
    unistd.close(fd)
    local server = sockets.server(assert(sockets.listen_unix(path)), echo)
    local a = connect{family = socket.AF_UNIX, path = path}
    assert.equal("hello\n", read(server, a, 6))
    server:close()
    unistd.close(a)
    os.remove(path)
  end)
end)
