-- SPDX-License-Identifier: Apache-2.0
-- Host: ARP, neighbour discovery and echo replies, byte by byte; learning; resolving.

local ffi = require("ffi")
local counter = require("core.counter")
local packet = require("core.packet")
local Host = require("apps.vtep.host").Host
local Neighbours = require("apps.vtep.neighbours")
local Tunnel = require("apps.vtep.tunnel")
local addresses = require("net.address.address")
local testing = require("testing.vtep")

local bytes, with = testing.bytes, testing.with

-- A Host that keeps what it sends in `sent`, with counters but without an engine.
local function host_of(tunnel)
  local host = Host:new(tunnel)
  for name in pairs(host.shm) do host.shm[name] = ffi.new("struct counter") end
  host.sent = {}
  function host:send(p)
    table.insert(self.sent, ffi.string(p.data, p.length))
    packet.free(p)
  end
  return host
end

local function count(host, name) return tonumber(counter.read(host.shm[name])) end

local function give(host, text) host:receive(packet.from_string(text), 1) end

local REQUEST = bytes[[ffffffffffff 020000000002 0806 0001 0800 06 04 0001
  020000000002 c0000202 000000000000 c0000201]] .. ("\0"):rep(18)
local SOLICITATION = bytes[[3333ff000001 020000000002 86dd 60000000 0020 3a ff
  20010db8000000000000000000000002 ff0200000000000000000001ff000001
  87 00 1c27 00000000 20010db8000000000000000000000001 01 01 020000000002]]
local ECHO = bytes[[020000000001 020000000002 0800
  4500 0024 0001 4000 0a01 ecd4 c0000202 c0000201 08 00 6668 0001 0001]] .. "abcdefgh"
local ECHO6 = bytes[[020000000001 020000000002 86dd 60000000 0010 3a 0a
  20010db8000000000000000000000002 20010db8000000000000000000000001
  80 00 92a8 0001 0001]] .. "abcdefgh"

describe("apps.vtep.host", function ()
  it("answers ARP requests for its address", function ()
    local host = host_of(testing.tunnel())
    give(host, REQUEST)
    assert.same({bytes[[020000000002 020000000001 0806 0001 0800 06 04 0002
      020000000001 c0000201 020000000002 c0000202]] .. ("\0"):rep(18)}, host.sent)
    give(host, with(REQUEST, 41, "\3")) -- for another host
    give(host, with(REQUEST, 20, "\0\2")) -- a reply
    assert.equal(1, #host.sent)
    for length = 0, 41 do give(host, REQUEST:sub(1, length)) end
    assert.equal(1, #host.sent)
    assert.equal(42, count(host, "ignored"))
  end)

  it("answers neighbour solicitations for its address", function ()
    local host = host_of(testing.tunnel6())
    give(host, SOLICITATION)
    assert.same({bytes[[020000000002 020000000001 86dd 60000000 0020 3a ff
      20010db8000000000000000000000001 20010db8000000000000000000000002
      88 00 8a73 60000000 20010db8000000000000000000000001 02 01 020000000001]]},
      host.sent)
    give(host, with(SOLICITATION, 21, "\254")) -- from behind a router
    give(host, with(SOLICITATION, 56, "\0\0")) -- a wrong checksum
    for length = 0, #SOLICITATION - 1 do give(host, SOLICITATION:sub(1, length)) end
    assert.equal(1, #host.sent)
  end)

  it("survives damaged messages", function ()
    math.randomseed(3)
    for text, tunnel in pairs{[REQUEST] = testing.tunnel(), [ECHO] = testing.tunnel(),
                              [SOLICITATION] = testing.tunnel6(),
                              [ECHO6] = testing.tunnel6()} do
      local host = host_of(tunnel)
      for _ = 1, 3000 do
        local damaged = text
        for _ = 1, 3 do
          damaged = with(damaged, math.random(12, #text - 1),
                         string.char(math.random(0, 255)))
        end
        give(host, damaged:sub(1, math.random(0, #text)))
      end
      assert(count(host, "ignored") > 1000)
    end
  end)

  it("answers echo requests", function ()
    local host = host_of(testing.tunnel())
    give(host, ECHO)
    assert.same({bytes[[020000000002 020000000001 0800
      4500 0024 0001 4000 4001 b6d4 c0000201 c0000202 00 00 6e68 0001 0001]]
      .. "abcdefgh"}, host.sent)
    local host6 = host_of(testing.tunnel6())
    give(host6, ECHO6)
    assert.same({bytes[[020000000002 020000000001 86dd 60000000 0010 3a 40
      20010db8000000000000000000000001 20010db8000000000000000000000002
      81 00 91a8 0001 0001]] .. "abcdefgh"}, host6.sent)
    local quiet = host_of(testing.tunnel{ping = false})
    give(quiet, ECHO)
    assert.equal(0, #quiet.sent)
  end)

  it("asks for a remote, and then sends there", function ()
    local tunnel = testing.tunnel{remotes = {"192.0.2.2"}}
    local host = host_of(tunnel)
    local frame = ("\255"):rep(6) .. ("\2"):rep(54)
    assert.equal("unresolved", (select(2, testing.encapsulate(tunnel, frame))))
    host.neighbours:refresh(0)
    assert.same({bytes[[ffffffffffff 020000000001 0806 0001 0800 06 04 0001
      020000000001 c0000201 000000000000 c0000202]] .. ("\0"):rep(18)}, host.sent)
    give(host, bytes[[020000000001 020000000077 0806 0001 0800 06 04 0002
      020000000077 c0000202 020000000001 c0000201]])
    assert.equal("\2\0\0\0\0\119", testing.encapsulate(tunnel, frame):sub(1, 6))
  end)

  it("asks for a remote over IPv6, and takes its advertisement", function ()
    local tunnel = testing.tunnel6{remotes = {"2001:db8::2"}}
    local host = host_of(tunnel)
    host.neighbours:refresh(0)
    assert.same({bytes[[3333ff000002 020000000001 86dd 60000000 0020 3a ff
      20010db8000000000000000000000001 ff0200000000000000000001ff000002
      87 00 1c27 00000000 20010db8000000000000000000000002 01 01 020000000001]]},
      host.sent)
    give(host, bytes[[020000000001 020000000002 86dd 60000000 0020 3a ff
      20010db8000000000000000000000002 20010db8000000000000000000000001
      88 00 8a71 60000000 20010db8000000000000000000000002 02 01 020000000002]])
    local frame = ("\255"):rep(6) .. ("\2"):rep(54)
    assert.equal("\2\0\0\0\0\2", testing.encapsulate(tunnel, frame):sub(1, 6))
  end)

  it("goes through the gateway to other networks", function ()
    local tunnel = testing.tunnel{remotes = {"198.51.100.1", "198.51.100.2"},
                                  gateway = "192.0.2.254"}
    local host = host_of(tunnel)
    host.neighbours:refresh(0)
    assert.equal(1, #host.sent)
    assert.equal("\192\0\2\254", host.sent[1]:sub(39, 42))
    host.neighbours:heard("\192\0\2\254", "\2\0\0\0\0\9", 0)
    assert.same({2, 2}, {tunnel.remotes:count()})
  end)
end)

describe("apps.vtep.host learns", function ()
  -- Note that a MAC address, by its last byte, was seen from an address.
  local function see(tunnel, mac, from)
    local digest = tunnel.digest
    local record = digest.of[digest.n]
    record.key = Tunnel.key("\2\0\0\0\0" .. string.char(mac), 1)
    ffi.copy(record.from, (addresses.ip(from)), 4)
    digest.n = digest.n + 1
  end

  local function where(tunnel, mac)
    local remote = tunnel.fdb:port(Tunnel.key("\2\0\0\0\0" .. string.char(mac), 1))
    return remote and addresses.text(tunnel.remotes.address[remote]) or nil
  end

  it("where addresses are, and that they have moved", function ()
    local tunnel = testing.tunnel()
    local host = host_of(tunnel)
    see(tunnel, 9, "192.0.2.2")
    see(tunnel, 9, "192.0.2.2")
    see(tunnel, 10, "192.0.2.7") -- a remote that nobody named
    host:pull()
    assert.equal("192.0.2.2", where(tunnel, 9))
    assert.equal("192.0.2.7", where(tunnel, 10))
    assert.same({2, 0, 2}, {count(host, "learned"), count(host, "moved"),
                            (tunnel.remotes:count())})
    see(tunnel, 10, "192.0.2.2")
    host:pull()
    assert.equal("192.0.2.2", where(tunnel, 10))
    assert.equal(1, count(host, "moved"))
    assert.equal(1, (tunnel.remotes:count())) -- 192.0.2.7 is forgotten
    assert.is_nil(tunnel.remotes.waiting["\192\0\2\7"])
  end)

  it("no more than the tables hold", function ()
    local tunnel = testing.tunnel{capacity = 3, max_remotes = 2}
    local host = host_of(tunnel)
    for n = 1, 3 do see(tunnel, n, "192.0.2.2") end
    for n = 1, 5 do see(tunnel, n, "192.0.2.2") end -- 1 to 3 are in use
    see(tunnel, 6, "192.0.2.7")
    host:pull()
    assert.equal(3, count(host, "learned"))
    assert.equal(3, count(host, "table_full"))
    assert.equal(1, (tunnel.remotes:count()))
    tunnel = testing.tunnel{max_remotes = 2}
    host = host_of(tunnel)
    for n = 3, 9 do see(tunnel, n, "192.0.2." .. n) end
    host:pull()
    assert.equal(6, count(host, "remotes_full"))
  end)

  it("another address for one that was seen once", function ()
    local tunnel = testing.tunnel{capacity = 1}
    local host = host_of(tunnel)
    see(tunnel, 1, "192.0.2.7")
    see(tunnel, 2, "192.0.2.2")
    host:pull()
    assert.equal("192.0.2.2", where(tunnel, 2))
    assert.is_nil(where(tunnel, 1))
    assert.equal(2, count(host, "learned"))
    assert.equal(0, count(host, "table_full"))
    assert.is_nil(tunnel.remotes.number[addresses.ip("192.0.2.7")])
  end)

  it("nothing from addresses that are no host's, or its own", function ()
    local tunnel = testing.tunnel()
    local host = host_of(tunnel)
    for _, from in ipairs{"0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255",
                          "192.0.2.1"} do
      see(tunnel, 9, from)
    end
    see(tunnel, 9, "198.51.100.1") -- no way there
    host:pull()
    assert.is_nil(where(tunnel, 9))
    assert.equal(5, count(host, "not_learned"))
    assert.equal(1, count(host, "remotes_full"))
  end)

  it("nothing over a static entry", function ()
    local tunnel = testing.tunnel{
      static = {{vni = 42, mac = "02:00:00:00:00:09", remote = "192.0.2.5"}}}
    local host = host_of(tunnel)
    see(tunnel, 9, "192.0.2.2")
    host:pull()
    assert.equal("192.0.2.5", where(tunnel, 9))
  end)
end)

describe("apps.vtep.neighbours", function ()
  it("asks again, and forgets who doesn't answer", function ()
    local asked, mac = {}, "unknown"
    local remotes = {waiting = {h = {}}, resolved = function (_, _, new) mac = new end}
    local n = Neighbours.new(remotes, function (hop) asked[#asked + 1] = hop end)
    for tenth = 0, 49 do n:refresh(tenth / 10) end
    assert.equal(5, #asked) -- once a second, for as long as it takes
    n:heard("h", "MAC", 5)
    n:heard("stranger", "MAC", 5)
    assert.equal("MAC", mac)
    for tenth = 51, 349 do n:refresh(tenth / 10) end
    assert.equal(5, #asked)
    for tenth = 350, 379 do n:refresh(tenth / 10) end
    assert.equal(8, #asked)
    assert.same({"MAC", 0}, {mac, n.lost})
    n:refresh(38)
    assert.same({nil, 1}, {mac, n.lost})
    n:heard("h", "NEW", 40)
    assert.equal("NEW", mac)
  end)
end)
