-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local drops = require("core.fuse.drops")
local packet_socket = require("click.devices.packet_socket")
local sockets = require("lib.sockets")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local LOCAL = 0x0100007f -- 127.0.0.1, as a word

-- A port of 127.0.0.1 that nobody uses.
local function free_port(kind)
  local socket = packet_socket.open(packet_socket.INET, kind)
  assert.is_nil(socket:bind(packet_socket.inet(LOCAL, 0)))
  local port = packet_socket.port_of(socket:name())
  socket:close()
  return port
end

-- Run it in real time, for ten seconds at most.
local function run(text, ...)
  return click.run(text:format(...) .. "; Script(wait 10, stop)", {simtime = false})
end

-- The numbers that the routers' counters have come to.
local function counts(r, ...)
  local list = {}
  for i, name in ipairs{...} do list[i] = r:handler_read(name) end
  r:close()
  return list
end

describe("Socket", function ()
  local folder, path

  before_each(function ()
    folder = os.tmpname()
    os.remove(folder)
    stat.mkdir(folder)
    path = function (name) return folder .. "/" .. name end
  end)

  after_each(function () os.execute("rm -r " .. folder) end)

  it("sends datagrams by UDP, and receives them", function ()
    local port = free_port(packet_socket.DATAGRAM)
    assert.same({"5", "15"}, counts(run([[
      Socket(UDP, 127.0.0.1, %d) -> c :: Counter(COUNT_CALL 5 stop) -> Discard;
      InfiniteSource("abc", LIMIT 5, STOP false) -> Socket(UDP, 127.0.0.1, %d)]],
      port, port), "c.count", "c.byte_count"))
  end)

  it("answers whoever spoke last", function ()
    local port = free_port(packet_socket.DATAGRAM)
    local r = run([[
      server :: Socket(UDP, 127.0.0.1, %d) -> StoreData(0, X) -> server;
      InfiniteSource("abc", LIMIT 3, STOP false)
      -> client :: Socket(UDP, 127.0.0.1, %d, CLIENT true)
      -> Print(back, CONTENTS ASCII) -> c :: Counter(COUNT_CALL 3 stop) -> Discard]],
      port, port)
    assert.same({"back:    3 |  Xbc", "back:    3 |  Xbc", "back:    3 |  Xbc"}, r.said)
    assert.same({"3"}, counts(r, "c.count"))
  end)

  it("sends to the annotation, if the address is 0", function ()
    local port = free_port(packet_socket.DATAGRAM)
    assert.same({"2"}, counts(run([[
      Socket(UDP, 127.0.0.1, %d) -> c :: Counter(COUNT_CALL 2 stop) -> Discard;
      InfiniteSource("abc", LIMIT 2, STOP false) -> SetIPAddress(127.0.0.1)
      -> Socket(UDP, 0.0.0.0, %d)]], port, port), "c.count"))
  end)

  it("sends a stream by TCP, pulled from a queue", function ()
    local port = free_port(packet_socket.STREAM)
    local r = run([[
      Socket(TCP, 127.0.0.1, %d, SNAPLEN 1000, VERBOSE true)
      -> c :: Counter(BYTE_COUNT_CALL 500000 stop) -> Discard;
      InfiniteSource(LENGTH 1000, LIMIT 500, STOP false) -> Queue
      -> Socket(TCP, 127.0.0.1, %d)]], port, port)
    assert.matches("listening for connections on 127.0.0.1:" .. port, r.said[1], 1,
      true)
    assert.matches("opened connection %d+ from 127.0.0.1:%d+", r.said[2])
    assert.same({"500000"}, counts(r, "c.byte_count"))
  end)

  it("takes one connection after the other", function ()
    local r = click.router(([[
      s :: Socket(UNIX, %s, VERBOSE true) -> Print(got, CONTENTS ASCII)
      -> c :: Counter(COUNT_CALL 2 stop) -> Discard;
      Script(wait 10, stop)]]):format(path("s")), {simtime = false})
    local first = sockets.connect_unix(path("s"))
    local second = sockets.connect_unix(path("s"))
    sockets.write_all(second, "two")
    sockets.write_all(first, "one")
    unistd.close(first)
    r:run()
    assert.same({"got:    3 |  one", "got:    3 |  two"}, {r.said[3], r.said[6]})
    assert.matches("closed connection", r.said[4], 1, true)
    r:close()
    unistd.close(second)
    assert.is_nil(stat.stat(path("s"))) -- it is removed with the router
  end)

  it("cuts datagrams to SNAPLEN, and notes how much", function ()
    local r = run([[
      Socket(UNIX_DGRAM, %s, SNAPLEN 4) -> Print(got, CONTENTS ASCII)
      -> c :: Counter(COUNT_CALL 1 stop) -> Pad -> d :: Counter -> Discard;
      InfiniteSource("abcdefghij", LIMIT 1, STOP false) -> Socket(UNIX_DGRAM, %s)]],
      path("s"), path("s"))
    assert.same({"got:    4 |  abcd"}, r.said)
    assert.same({"4", "10"}, counts(r, "c.byte_count", "d.byte_count"))
  end)

  it("binds to an address of its own, in the abstract namespace, too", function ()
    local r = run([[
      server :: Socket(UNIX_DGRAM, %s) -> server;
      InfiniteSource("abc", LIMIT 2, STOP false)
      -> Socket(UNIX_DGRAM, %s, "\<00>perigee-%d")
      -> c :: Counter(COUNT_CALL 2 stop) -> Discard]], path("s"), path("s"),
      unistd.getpid())
    assert.same({"2"}, counts(r, "c.count"))
  end)

  it("looks up who may talk to it", function ()
    local function heard(allow, deny)
      local port = free_port(packet_socket.DATAGRAM)
      local r = run([[
        allow :: RadixIPLookup(%s 0); deny :: RadixIPLookup(%s 0);
        Idle -> allow -> deny -> Discard;
        Socket(UDP, 127.0.0.1, %d, ALLOW allow, DENY deny, VERBOSE true)
        -> c :: Counter -> Discard;
        InfiniteSource("abc", LIMIT 3, STOP false) -> Socket(UDP, 127.0.0.1, %d);
        Script(wait 0.3, stop)]], allow, deny, port, port)
      return counts(r, "c.count")[1], r.said
    end
    assert.equal("3", (heard("127.0.0.1", "0.0.0.0/0")))
    assert.equal("3", (heard("10.0.0.0/8", "10.0.0.0/8")))
    local n, said = heard("10.0.0.0/8", "127.0.0.0/8")
    assert.equal("0", n)
    assert.matches("dropped datagram from 127.0.0.1:%d+", said[1])
  end)

  it("drops what it can send nobody", function ()
    local port = free_port(packet_socket.STREAM)
    local r = run([[
      InfiniteSource("abc", LIMIT 3, STOP false)
      -> s :: Socket(TCP, 127.0.0.1, %d, CLIENT false); Script(wait 0.1, stop)]], port)
    assert.equal(3, drops.of(r:find("s"))["not connected"])
    r:close()
  end)

  it("says what it can't do", function ()
    local function problem(config) return click.problem(config, "\n  ([^\n]*)") end
    local port = free_port(packet_socket.STREAM)
    for arguments, text in pairs{
      ["SCTP, 1"] = "unknown socket type 'SCTP'",
      ["TCP, 127.0.0.1"] = "PORT: required argument missing",
      ["UNIX, /" .. ("x"):rep(120)] = "remote filename '/" .. ("x"):rep(120)
        .. "' too long",
      ["UDP, 127.0.0.1, 9, ALLOW i"] = "i is not an IPRouteTable",
      ["UDP, 127.0.0.1, 9, SNAPLEN 20000"] = "SNAPLEN: out of range, bound 10240",
      [("TCP, 127.0.0.1, %d, CLIENT true"):format(port)] =
        "connect: Connection refused",
      ["UDP, 192.0.2.1, 9"] = "bind: Cannot assign requested address",
    } do
      local config = ("i :: Idle; Socket(%s) -> Discard"):format(arguments)
      assert.equal(text, problem(config))
    end
  end)

  it("goes by its older names", function ()
    local r = run([[
      FromSocket(UNIX_DGRAM, %s) -> c :: Counter(COUNT_CALL 2 stop) -> Discard;
      InfiniteSource("abc", LIMIT 2, STOP false) -> Queue -> ToSocket(UNIX_DGRAM, %s)]],
      path("s"), path("s"))
    assert.same({"warning: FromSocket is deprecated, use Socket instead",
      "warning: ToSocket is deprecated, use Socket instead"}, r.said)
    assert.same({"2"}, counts(r, "c.count"))
  end)
end)

describe("McastSocket", function ()
  it("sends to a group, and hears what others send", function ()
    local port = free_port(packet_socket.DATAGRAM)
    assert.same({"3", "3"}, counts(run([[
      InfiniteSource("abc", LIMIT 3, STOP false)
      -> McastSocket(233.252.0.0, %d, 127.0.0.1) -> own :: Counter -> Discard;
      InfiniteSource("abc", LIMIT 3, STOP false) -> Queue
      -> McastSocket(233.252.0.0, %d, 127.0.0.1)
      -> c :: Counter(COUNT_CALL 3 stop) -> Discard;
      Script(wait 0.3, stop)]], port, port), "own.count", "c.count"))
  end)

  it("wants a group", function ()
    assert.same({"MCASTIP: 10.0.0.1 is no multicast address"},
      click.unit("McastSocket(10.0.0.1, 1234)").errors)
  end)
end)
