-- SPDX-License-Identifier: Apache-2.0
-- Pings that Scapy made, and what is no ping to us.

local ICMPEcho = require("apps.ipv4.echo").ICMPEcho
local checksum = require("net.checksum.checksum")
local ffi = require("ffi")
local testing = require("testing.harness")
local packet_bytes = require("testing.packet_bytes")

local ENDS = {"north", "south"}
local US, THEM = "\2\0\0\0\0\1", "\2\0\0\0\0\2"

-- Scapy: Ether(src=THEM, dst=US)/IP(src="10.0.0.2", dst="10.0.0.1")/ICMP(id=7, seq=3)/
-- "ping"
local PING = US .. THEM .. "\8\0\69\0\0\32\0\1\0\0\64\1\102\218\10\0\0\2\10\0\0\1"
  .. "\8\0\25\37\0\7\0\3ping"

local function app()
  return testing.app(ICMPEcho, {address = "\10\0\0\1"}, ENDS, ENDS)
end

local function changed(at, bytes) return packet_bytes.changed(PING, at, bytes) end

local function sum(text) return checksum.of(ffi.cast("const char *", text), #text) end

describe("ICMPEcho", function ()
  it("was given a sound ping", function ()
    assert.equal(0, sum(PING:sub(15, 34)))
    assert.equal(0, sum(PING:sub(35)))
  end)

  it("turns pings around", function ()
    local a = app()
    local answer = testing.through(a, {PING}, "south", "south")[1]
    assert.equal(THEM .. US .. "\8\0\69\0\0\32\0\1\0\0\64\1", answer:sub(1, 24))
    assert.equal("\10\0\0\1\10\0\0\2\0\0", answer:sub(27, 36))
    assert.equal("\0\7\0\3ping", answer:sub(39))
    assert.equal(0, sum(answer:sub(15, 34)))
    assert.equal(0, sum(answer:sub(35)))
    assert.equal(1, testing.count(a, "out-icmpv4-echo-packets"))
  end)

  it("lets pass whatever isn't a whole ping to us", function ()
    for _, frame in ipairs{
      changed(20, "\32\0"), changed(20, "\0\1"), changed(21, "\9"), -- fragments
      changed(33, "\9"), changed(34, "\0"), changed(35, "\1"), changed(23, "\17"),
      changed(12, "\134\221"), PING:sub(1, 41), changed(17, "\23"),
    } do
      assert.same({frame}, testing.through(app(), {frame}, "south", "north"))
    end
  end)
end)
