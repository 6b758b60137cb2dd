-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local click_router = require("testing.click_router")

local hex = require("net.wire.bytes").from_hex

-- A host's packet in tunnel 22, its answer, and what a ping's reply comes in.
local HOST, FAR = "0a010001", "cb007105"
local OUTER = "4500%s00000000fa110000c0000201c0000202086808680000000030ff%s00000016"

local function inner(source, destination, protocol)
  return ("45000020000000004006%04x"):format(0) .. source .. destination
    .. (protocol and "" or "0007003500000000deadbeef")
end

local function tunnelled(bytes)
  local n = #bytes / 2
  return hex(OUTER:format(("%04x"):format(n + 36), ("%04x"):format(n)) .. bytes)
end

local REVERSED = "c0000202c0000201"

-- The reply to a ping that GTPTable has sent, in tunnel 33.
local function reply_to(ping)
  return ping:sub(1, 12) .. hex(REVERSED) .. ping:sub(21, 32) .. "\0\0\0\33"
    .. ping:sub(37, 48) .. ping:sub(53, 56) .. ping:sub(49, 52) .. "\0"
    .. ping:sub(58)
end

describe("GTPTable", function ()
  local unit
  before_each(function () unit = click.unit("GTPTable(203.0.113.9)",
    {inputs = 2, outputs = 2}) end)
  after_each(function () unit:free() end)

  it("asks for the tunnel back until it knows it", function ()
    local packet = inner(HOST, FAR)
    local out = unit:send(tunnelled(packet), 1)
    assert.same({2, 1}, {out[1][1], out[2][1]})
    assert.equal(hex(packet), out[2][2])
    local ping = out[1][2]
    assert.equal(96, #ping)
    assert.equal("\0\96", ping:sub(3, 4))
    assert.equal("\0\60", ping:sub(31, 32)) -- in the GTP header
    assert.equal(hex(HOST .. "cb007109"), ping:sub(49, 56))
    assert.equal("\8\0", ping:sub(57, 58))
    assert.same({}, unit:send(reply_to(ping), 2))
    assert.same({1, 1}, {unit:read("tunnels"), unit:read("flows")})
    assert.same({{1, hex(packet)}}, unit:send(tunnelled(packet), 1))
    -- A reply counts once.
    assert.same({}, unit:send(reply_to(ping), 2))
    assert.same({["reply to a ping"] = 1, ["reply to no ping"] = 1}, unit.lost)
  end)

  it("drops what is no packet of a tunnel, however short", function ()
    local whole = tunnelled(inner(HOST, FAR))
    local least = 36 + 20
    for n = 0, least - 1 do
      assert.same({}, unit:send(whole:sub(1, n), 1))
      assert.same({}, unit:send(whole:sub(1, n), 2))
    end
    assert.same({}, unit:send(whole:sub(1, 9) .. "\6" .. whole:sub(11), 1))
    assert.same({["not GTP"] = 2 * least + 1}, unit.lost)
  end)
end)

describe("GTPLookup", function ()
  it("wants a GTPTable, and drops what it doesn't know", function ()
    local r = click_router.run([[
      t :: GTPTable(203.0.113.9); Idle -> [0]t; Idle -> [1]t;
      t -> Discard; t[1] -> Discard;
      InfiniteSource(hello, 1, STOP true) -> UDPIPEncap(10.0.0.1, 5, 10.0.0.2, 6)
        -> l :: GTPLookup(t) -> Catch]])
    assert.equal(0, #r.caught)
  end)

  it("puts answers into the tunnel back", function ()
    local r = click_router.run([[
      InfiniteSource(hello, 1, STOP true) -> UDPIPEncap(10.1.0.1, 7, 203.0.113.5, 53)
        -> GTPEncap(22) -> UDPIPEncap(192.0.2.1, 2152, 192.0.2.2, 2152)
        -> t :: GTPTable(203.0.113.9) -> IPMirror -> GTPLookup(t, CHECKSUM false)
        -> Catch;
      t[1] -> Strip(36) -> MarkIPHeader -> ICMPPingResponder -> GTPEncap(33)
        -> UDPIPEncap(192.0.2.2, 2152, 192.0.2.1, 2152) -> [1]t]])
    assert.equal(hex("4500004500000000fa113ca4" .. REVERSED .. "0868086800310000"
      .. "30ff002100000021"
      .. "4500002100000000fa117ac4" .. FAR .. HOST .. "00350007000d75be")
      .. "hello", r.caught[1])
  end)
end)
