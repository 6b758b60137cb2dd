-- SPDX-License-Identifier: Apache-2.0

local testing = require("testing.harness")
local esp = require("apps.ipsec.esp")
local state = require("testing.state_folder")

setup(state.make)
teardown(state.remove)

local KEY, OTHER = ("0011223344556677"):rep(2), ("8899aabbccddeeff"):rep(2)
local BOTH = {"decapsulated", "encapsulated"}

-- The ends of an association: what one transmits the other receives.
local function ends(class, more)
  local function one(transmit, receive)
    local arg = {spi = 5, aead = "aes-gcm-16-icv", transmit_key = transmit[1],
      transmit_salt = transmit[2], receive_key = receive[1], receive_salt = receive[2]}
    for key, value in pairs(more or {}) do arg[key] = value end
    return testing.app(class, arg, BOTH, BOTH)
  end
  local a, b = {KEY, "deadbeef"}, {OTHER, "beefdead"}
  return one(a, b), one(b, a)
end

local ARP = ("\255"):rep(12) .. "\8\6" .. ("\0"):rep(46)

local function frame(payload, padding)
  return ("\2"):rep(12) .. "\134\221\96\0\0\0"
    .. string.char(math.floor(#payload / 256), #payload % 256) .. "\17\64"
    .. ("\9"):rep(32) .. payload .. (padding or "")
end

local function seal(app, frames)
  return testing.through(app, frames, "decapsulated", "encapsulated")
end

local function open(app, frames)
  return testing.through(app, frames, "encapsulated", "decapsulated")
end

local ADDRESSES = {self_ip = "2001:db8::1", nexthop_ip = "2001:db8::2"}

describe("Transport6", function ()
  it("seals and opens, both ways", function ()
    local a, b = ends(esp.Transport6)
    local frames = {frame(""), frame("hello"), frame(("x"):rep(200))}
    assert.same(frames, open(b, seal(a, frames)))
    assert.same(frames, open(a, seal(b, frames)))
  end)

  it("takes off what Ethernet padded a packet with", function ()
    local a, b = ends(esp.Transport6)
    assert.same({frame("x")}, open(b, seal(a, {frame("x", ("\0"):rep(5))})))
  end)

  it("lets nothing pass in the clear", function ()
    local a, b = ends(esp.Transport6)
    assert.same({}, seal(a, {ARP, "", frame("x"):sub(1, 54), frame("x"):sub(1, 53)}))
    assert.equal(4, testing.count(a, "txerrors"))
    local sealed = seal(a, {frame("x")})[1]
    assert.same({}, open(b, {ARP, frame("not sealed, but long enough to be so....")}))
    assert.same({frame("x")}, open(b, {sealed}))
    assert.same({}, open(b, {sealed}))
    assert.equal(3, testing.count(b, "rxerrors"))
  end)

  it("drops packets of another SPI, by name", function ()
    local a, b = ends(esp.Transport6)
    local sealed = seal(a, {frame("x")})[1]
    for at = 55, 58 do
      local other = sealed:sub(1, at - 1) .. "\66" .. sealed:sub(at + 1)
      assert.same({}, open(b, {other}))
    end
    assert.equal(4, testing.count(b, "rx_wrong_spi"))
    assert.equal(4, testing.count(b, "rxerrors"))
    assert.same({frame("x")}, open(b, {sealed}))
  end)

  it("refuses one salt for both directions", function ()
    assert.has_error(function ()
      esp.Transport6:new{spi = 1, aead = "aes-gcm-16-icv", transmit_key = KEY,
        receive_key = OTHER, transmit_salt = "00000000", receive_salt = "00000000"}
    end)
  end)

  it("reads and writes nothing outside a packet #slow", function ()
    local a, b = ends(esp.Transport6, {resync_threshold = 3})
    local sealed = seal(a, {frame("hello")})[1]
    assert.equal(0, testing.at_the_edge(b, "encapsulated", 2000, function ()
      return testing.mutate(sealed, math.random(12, 70))
    end))
  end)
end)

describe("Tunnel6", function ()
  it("carries IPv6 packets between two hosts", function ()
    local a, b = ends(esp.Tunnel6, ADDRESSES)
    local sealed = seal(a, {frame("hello")})
    -- 80 bytes: 16 + 45 + 1 + 2 + 16
    assert.equal("\0\80\50\64\32\1\13\184", sealed[1]:sub(19, 26))
    local opened = open(b, sealed)
    assert.equal(frame("hello"):sub(13), opened[1]:sub(13))
    assert.same({}, open(b, sealed))
    local cut = frame("x"):sub(1, 54)
    assert.same({}, seal(a, {"short", frame(("x"):rep(10100)), ARP, cut}))
    assert.equal(4, testing.count(a, "txerrors"))
    assert.has_error(function () ends(esp.Tunnel6, {self_ip = "10.0.0.1"}) end)
  end)
end)
