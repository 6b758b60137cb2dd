-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local drops = require("core.fuse.drops")
local packet_socket = require("click.devices.packet_socket")
local unistd = require("posix.unistd")

local PROTOCOL = 253 -- for experiments (RFC 3692)

-- An address of the loopback for this process alone.
local pid = unistd.getpid()
local OWN = ("127.%d.%d.9"):format(pid / 256 % 256 + 1, pid % 256)

local may_open = packet_socket.open(packet_socket.INET, packet_socket.RAW, PROTOCOL)
if may_open then may_open:close() end

-- Run it in real time, for ten seconds at most; what it said, and what its element r
-- dropped.
local function run(text)
  local r = click.run(text:gsub("OWN", OWN) .. "; Script(wait 10, stop)",
    {simtime = false})
  local said, dropped = r.said, drops.of(r:find("r") or r)
  r:close()
  return said, dropped
end

local function problem(config) return click.problem(config, "\n  (.*)\nRouter") end

describe("RawSocket", function ()
  it("says what it can't do", function ()
    assert.equal("TYPE: invalid number", problem("RawSocket(FOO) -> Discard"))
    assert.equal("PORT: out of range, bound 65535\n  SNAPLEN: invalid number\n"
      .. "  HEADROOM: invalid number",
      problem("RawSocket(ICMP, 70000, SNAPLEN x, HEADROOM y) -> Discard"))
    assert.equal("TYPE: required argument missing", problem("RawSocket -> Discard"))
  end)

  if not may_open then
    return pending("needs CAP_NET_RAW, which this process hasn't")
  end

  it("sends packets to where their headers say, and receives them", function ()
    assert.same({"got:    5 |  hello", "got:    5 |  hello"}, run[[
      InfiniteSource(hello, LIMIT 2, STOP false) -> IPEncap(253, OWN, OWN) -> Queue
      -> RawSocket(253) -> i :: IPClassifier(src host OWN) -> CheckIPHeader
      -> MarkIPHeader -> StripIPHeader -> Print(got, CONTENTS ASCII)
      -> c :: Counter(COUNT_CALL 2 stop) -> Discard]])
  end)

  it("cuts to SNAPLEN, and notes how much", function ()
    assert.same({"got:   24", "got:   45"}, run[[
      InfiniteSource(LENGTH 25, LIMIT 1, STOP false) -> IPEncap(253, OWN, OWN) -> Queue
      -> RawSocket(253, SNAPLEN 24) -> IPClassifier(src host OWN)
      -> Print(got, 0) -> Pad -> Print(got, 0)
      -> Counter(COUNT_CALL 1 stop) -> Discard]])
  end)

  it("goes on after what can't be sent", function ()
    local said, dropped = run[[
      InfiniteSource(short, LIMIT 1, STOP false) -> q :: Queue;
      InfiniteSource(LENGTH 10, LIMIT 1, STOP false) -> IPEncap(253, OWN, OWN)
      -> StoreData(0, O) -> q; // a header of 60 bytes, it says
      InfiniteSource(LENGTH 10, LIMIT 1, STOP false) -> IPEncap(253, OWN, OWN)
      -> q -> r :: RawSocket(253) -> IPClassifier(src host OWN) -> Print(got, 0)
      -> Counter(COUNT_CALL 1 stop) -> Discard]]
    assert.equal("r :: RawSocket: runt IP packet (5 bytes)", said[1])
    assert.equal("r :: RawSocket: send: Invalid argument", said[2])
    assert.equal("got:   30", said[3])
    assert.same({["the socket doesn't take it"] = 2}, dropped)
  end)

  it("holds its port", function ()
    local socket = packet_socket.open(packet_socket.INET, packet_socket.DATAGRAM)
    assert.is_nil(socket:bind(packet_socket.inet(0, 0)))
    local port = packet_socket.port_of(socket:name())
    local config = ("RawSocket(UDP, %d) -> Discard"):format(port)
    assert.equal(("port %d: bind: Address already in use"):format(port),
      problem(config))
    socket:close()
    local r = assert(click.router(config, {simtime = false}))
    assert.equal(("port %d: bind: Address already in use"):format(port),
      problem(config))
    r:close()
    assert.is_nil(problem(config))
    assert.is_nil(problem(("RawSocket(ICMP, %d) -> Discard"):format(port)))
  end)

  it("goes by its older names", function ()
    local said = run[[
      FromRawSocket(253) -> IPClassifier(src host OWN) -> Print(got, 0)
      -> Counter(COUNT_CALL 1 stop) -> Discard;
      InfiniteSource(LENGTH 10, LIMIT 1, STOP false) -> IPEncap(253, OWN, OWN) -> Queue
      -> ToRawSocket(253)]]
    assert.same({"warning: FromRawSocket is deprecated, use RawSocket instead",
      "warning: ToRawSocket is deprecated, use RawSocket instead", "got:   30"}, said)
  end)
end)
