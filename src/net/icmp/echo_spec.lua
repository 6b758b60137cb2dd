-- SPDX-License-Identifier: Apache-2.0
-- Echo requests and replies that Scapy made; and what is no request to answer.

local ffi = require("ffi")
local echo = require("net.icmp.echo")
local packet_bytes = require("testing.packet_bytes")

local changed = packet_bytes.changed

local hex = require("net.wire.bytes").from_hex

-- Scapy: Ether(src=THEM, dst=US) / IP(src="10.0.0.2", dst="10.0.0.1", ttl=9) /
-- ICMP(id=7, seq=3) / "ping", and the reply with ttl=64; the same with IPv6 and
-- ICMPv6EchoRequest; and ICMP(id=0, seq=0), whose reply is all zeros.
local ASKED4 = hex[[020000000001 020000000002 0800 45000020 00010000 09019dda
  0a000002 0a000001 08001925 00070003]] .. "ping"
local ANSWER4 = hex[[020000000002 020000000001 0800 45000020 00010000 400166da
  0a000001 0a000002 00002125 00070003]] .. "ping"
local ASKED6 = hex[[020000000001 020000000002 86dd 60000000 000c3a09
  20010db8000000000000000000000002 20010db8000000000000000000000001
  80004569 00070003]] .. "ping"
local ANSWER6 = hex[[020000000002 020000000001 86dd 60000000 000c3a40
  20010db8000000000000000000000001 20010db8000000000000000000000002
  81004469 00070003]] .. "ping"
local ZEROS = hex[[020000000001 020000000002 0800 4500001c 00010000 09019dde
  0a000002 0a000001 0800f7ff 00000000]]
local OF_ZEROS = hex[[020000000002 020000000001 0800 4500001c 00010000 400166de
  0a000001 0a000002 0000ffff 00000000]]

local frame = ffi.new("uint8_t[128]")

local function find(text, request)
  ffi.copy(frame, text)
  return request(frame, #text)
end

local function turned(text, request, turn)
  local at = find(text, request)
  assert(at > 0)
  turn(frame, at, 64)
  return ffi.string(frame, #text)
end

describe("net.icmp.echo", function ()
  it("answers as Scapy does", function ()
    assert.equal(ANSWER4, turned(ASKED4, echo.request4, echo.turn4))
    assert.equal(ANSWER6, turned(ASKED6, echo.request6, echo.turn6))
    assert.equal(OF_ZEROS, turned(ZEROS, echo.request4, echo.turn4))
    -- ICMP(id=0xffff, seq=0) has the same checksum, but the reply's is 0.
    local function of_ones(text) return changed(text, 38, "\255\255") end
    assert.equal(changed(of_ones(OF_ZEROS), 36, "\0\0"),
      turned(of_ones(ZEROS), echo.request4, echo.turn4))
  end)

  it("leaves padding, options and what has arrived damaged as they are", function ()
    local pad = ("\0"):rep(10)
    assert.equal(ANSWER4 .. pad, turned(ASKED4 .. pad, echo.request4, echo.turn4))
    assert.equal(changed(ANSWER4, 45, "x"),
      turned(changed(ASKED4, 45, "x"), echo.request4, echo.turn4))
    -- Four "no operation"s more, which change two words of the header's sum.
    local function with_options(text)
      local sum = text:byte(25) * 256 + text:byte(26) - 0x0104 - 0x0202
      return changed(changed(text:sub(1, 34), 14, "\70\0\0\36"), 24,
        string.char(math.floor(sum / 256), sum % 256)) .. "\1\1\1\1" .. text:sub(35)
    end
    assert.equal(with_options(ANSWER4),
      turned(with_options(ASKED4), echo.request4, echo.turn4))
  end)

  it("sends an IPv4 header of its own, whatever the request's checksum was", function ()
    assert.equal(ANSWER4,
      turned(changed(ASKED4, 24, "\1\2"), echo.request4, echo.turn4))
  end)

  it("takes nothing else for a request over IPv4", function ()
    for length = 0, #ASKED4 - 1 do
      assert.equal(0, find(ASKED4:sub(1, length), echo.request4))
    end
    assert.equal(0, find(ASKED6, echo.request4))
    assert.equal(0, find(ANSWER4, echo.request4))
    for what, text in pairs{
      ["the first fragment"] = changed(ASKED4, 20, "\32\0"),
      ["another one"] = changed(ASKED4, 20, "\0\1"),
      ["one far behind"] = changed(ASKED4, 20, "\16\0"),
      code = changed(ASKED4, 35, "\1"), TCP = changed(ASKED4, 23, "\6"),
      ["less than a message"] = changed(ASKED4, 16, "\0\27"),
      ["from a group"] = changed(ASKED4, 26, "\224"),
      ["from all"] = changed(ASKED4, 26, ("\255"):rep(4)),
      ["from this network"] = changed(ASKED4, 26, "\0"),
    } do
      assert.equal(0, find(text, echo.request4), what)
    end
    assert.equal(34, find(changed(ASKED4, 20, "\64\0"), echo.request4)) -- DF
  end)

  it("takes nothing else for a request over IPv6", function ()
    for length = 0, #ASKED6 - 1 do
      assert.equal(0, find(ASKED6:sub(1, length), echo.request6))
    end
    assert.equal(0, find(ASKED4, echo.request6))
    assert.equal(0, find(ANSWER6, echo.request6))
    for what, text in pairs{
      ["a fragment"] = changed(ASKED6, 20, "\44"), code = changed(ASKED6, 55, "\1"),
      ["less than a message"] = changed(ASKED6, 18, "\0\7"),
      ["from a group"] = changed(ASKED6, 22, "\255"),
      ["from nobody"] = changed(ASKED6, 22, ("\0"):rep(16)),
    } do
      assert.equal(0, find(text, echo.request6), what)
    end
    assert.equal(54, find(changed(ASKED6, 22, ("\0"):rep(15) .. "\1"), echo.request6))
  end)
end)
