-- SPDX-License-Identifier: Apache-2.0
local changes = require("lib.observe.changes")
local createStack = require("lib.stack").createStack
local first_header = require("lib.observe.first_header")
local packet = require("core.packet")

local function bytes(stack, values)
  local p = packet.allocate()
  local pkt = createStack(unpack(stack))(p)
  pkt:fill(values)
  pkt:calculateChecksums()
  local text = require("ffi").string(p.data, p.length)
  packet.free(p)
  return text
end

local FRAME = bytes({"eth", "ip4", "udp"}, {ip4TTL = 64, pktLength = 60})
local FRAME6 = bytes({"eth", "ip6", "udp"}, {pktLength = 80})
local ETHERNET = 14

local function first_of(text) return first_header.of(text, #text) end

-- What an app did, and what it made.
local function between(before, after, first)
  local lines, read = changes.between(changes.read(before, nil, first), after, #after)
  return lines, read
end

describe("the first header", function ()
  it("is Ethernet's, or IP's where nothing lies before it", function ()
    assert.equal("eth", first_of(FRAME))
    assert.equal("ip4", first_of(FRAME:sub(ETHERNET + 1)))
    assert.equal("eth", first_of(FRAME6))
    assert.equal("ip6", first_of(FRAME6:sub(ETHERNET + 1)))
    assert.equal("eth", first_of(""))
  end)

  it("isn't IPv4's where the checksum or a length is wrong", function ()
    local ip = FRAME:sub(ETHERNET + 1)
    assert.equal("eth", first_of(ip:sub(1, 10) .. "\1\2" .. ip:sub(13)))
    assert.equal("eth", first_of(ip:sub(1, 30)))
    assert.equal("eth", first_of("\96" .. ip:sub(2)))
  end)

  it("isn't IPv6's in a frame to an address that begins like it", function ()
    assert.equal("eth", first_of("\96\0\0\0\0\1" .. FRAME6:sub(7)))
  end)
end)

describe("what an app made of a packet", function ()
  it("is known where it took headers off, or put them in front", function ()
    local ip, udp = FRAME:sub(15), FRAME:sub(35)
    assert.same({"eth taken off", "length 60 -> 46"}, (between(FRAME, ip)))
    assert.same({"eth put in front", "length 46 -> 60"}, (between(ip, FRAME)))
    local lines, read = between(ip, udp)
    assert.same({"ip4 taken off", "length 46 -> 26"}, lines)
    assert.equal("udp", read.headers[1].name)
    lines, read = between(FRAME, FRAME:sub(50))
    assert.same({"eth, ip4, udp taken off", "length 60 -> 11"}, lines)
    assert.equal("length 11", read.text)
  end)

  it("begins as before where its checksum is wrong for now", function ()
    local ip = FRAME:sub(15)
    local late = ip:sub(1, 8) .. "\63" .. ip:sub(10)
    assert.equal("eth", first_of(late))
    local lines, read = between(ip, late)
    assert.same({"ip4 TTL 64 -> 63"}, lines)
    assert.equal("ip4", read.headers[1].name)
  end)
end)
