-- SPDX-License-Identifier: Apache-2.0
-- Neighbour discovery against messages that Scapy makes, and each rule of RFC 4861,
-- sections 7.1.1 and 7.1.2, by itself.

local ffi = require("ffi")
local ip6 = require("net.ip.ip6")
local nd = require("net.neighbor.nd")
local packet_bytes = require("testing.packet_bytes")
local bytes_of = require("testing.support").bytes_of

local changed = packet_bytes.changed

local hex = require("net.wire.bytes").from_hex

local MAC, THEIR_MAC = hex"020000000001", hex"020000000002"
local IP, THEIR_IP = hex"20010db8000000000000000000000001",
  hex"20010db8000000000000000000000002"

-- Scapy: Ether(src=THEIR_MAC, dst="33:33:ff:00:00:01") / IPv6(src=THEIR_IP,
--   dst="ff02::1:ff00:1", hlim=255) / ICMPv6ND_NS(tgt=IP) / ICMPv6NDOptSrcLLAddr(
--   lladdr=THEIR_MAC); the same from :: and without the option; ICMPv6ND_NA(R=1, S=1,
--   O=1, tgt=IP) / ICMPv6NDOptDstLLAddr(lladdr=MAC) to THEIR_IP; with R=0, S=0 to
--   ff02::1.
local QUESTION = hex[[3333ff000001 020000000002 86dd 60000000 0020 3a ff
  20010db8000000000000000000000002 ff0200000000000000000001ff000001
  87 00 1c27 00000000 20010db8000000000000000000000001 01 01 020000000002]]
local FROM_NOBODY = hex[[3333ff000001 020000000002 86dd 60000000 0018 3a ff
  00000000000000000000000000000000 ff0200000000000000000001ff000001
  87 00 4ced 00000000 20010db8000000000000000000000001]]
local ANSWER = hex[[020000000002 020000000001 86dd 60000000 0020 3a ff
  20010db8000000000000000000000001 20010db8000000000000000000000002
  88 00 0a73 e0000000 20010db8000000000000000000000001 02 01 020000000001]]
local TO_ALL = hex[[333300000001 020000000001 86dd 60000000 0020 3a ff
  20010db8000000000000000000000001 ff020000000000000000000000000001
  88 00 f92a 20000000 20010db8000000000000000000000001 02 01 020000000001]]

local frame = ffi.new("uint8_t[256]")

-- What kind() says of the frame, and read() if it is a message; with the right checksum
-- and length, unless they are to stay.
local function read(text, as_it_is)
  ffi.copy(frame, text)
  if not as_it_is then
    local size = #text - 54
    frame[18], frame[19], frame[56], frame[57] = 0, size, 0, 0
    local sum = ip6.checksum(frame, ip6.ICMP, size)
    frame[56], frame[57] = math.floor(sum / 256), sum % 256
  end
  local kind = nd.kind(frame, #text)
  if kind == 0 then return 0 end
  return kind, nd.read(frame, kind)
end

describe("net.neighbor.nd", function ()
  it("asks", function ()
    assert.equal(QUESTION, bytes_of(nd.solicitation(THEIR_MAC, THEIR_IP, IP)))
  end)

  it("answers, and to all if nobody asks", function ()
    ffi.copy(frame, QUESTION)
    assert.equal(ANSWER, bytes_of(nd.advertisement(MAC, IP, frame,
      nd.ROUTER + nd.OVERRIDE)))
    ffi.copy(frame, FROM_NOBODY)
    assert.equal(TO_ALL, bytes_of(nd.advertisement(MAC, IP, frame, nd.OVERRIDE)))
  end)

  it("reads where the MAC address is", function ()
    assert.same({135, 80}, {read(QUESTION, true)})
    assert.same({135, nd.SOURCE_MAC}, {read(FROM_NOBODY, true)})
    assert.same({136, 80}, {read(ANSWER, true)})
    assert.same({136, 80}, {read(TO_ALL .. "padding", true)})
    local nonce = "\14\1nonce!"
    assert.same({135, 88}, {read(QUESTION:sub(1, 78) .. nonce .. QUESTION:sub(79))})
    assert.same({135, 80}, {read(QUESTION .. "\1\1\2\0\0\0\0\9")}) -- the first counts
    assert.same({136, nd.SOURCE_MAC}, {read(changed(ANSWER, 78, "\1"))})
  end)

  it("takes nothing else for a message, cut short or not", function ()
    for length = 0, #QUESTION - 1 do
      assert.equal(0, (read(QUESTION:sub(1, length), true)))
    end
    for at, byte in pairs{[12] = "\8", [20] = "\6", [54] = "\134"} do
      assert.equal(0, (read(changed(QUESTION, at, byte), true)))
    end
    assert.equal(0, (read(changed(QUESTION, 19, "\23"), true)))
  end)

  it("says what is wrong", function ()
    local function problem(text, as_it_is)
      local _, at, what = read(text, as_it_is)
      assert.is_nil(at)
      return what
    end
    assert.equal(nd.FAR, problem(changed(QUESTION, 21, "\254"), true))
    assert.equal(nd.BAD_SUM, problem(changed(QUESTION, 57, "\0"), true))
    for what, text in pairs{
      code = changed(QUESTION, 55, "\1"),
      ["a group's address"] = changed(QUESTION, 62, "\255"),
      ["an option of no length"] = changed(QUESTION, 79, "\0"),
      ["an option that ends behind the message"] = changed(QUESTION, 79, "\2"),
      ["a nonce that ends behind it"] = QUESTION .. "\14\2nonce!",
      ["half an option"] = QUESTION .. "\14",
      ["an address of 14 bytes"] = changed(QUESTION, 79, "\2") .. ("\0"):rep(8),
      ["a group's MAC address"] = changed(QUESTION, 80, "\1"),
      ["all stations' MAC address"] = changed(ANSWER, 80, ("\255"):rep(6)),
      ["a group's MAC address, without an option"] = changed(FROM_NOBODY, 6, "\1"),
      ["nobody's MAC address"] = FROM_NOBODY .. "\1\1" .. THEIR_MAC,
      ["from nobody to one"] = changed(FROM_NOBODY, 38, IP),
      ["asked for by all"] = changed(TO_ALL, 58, "\96"),
    } do
      assert.equal(nd.MALFORMED, problem(text), what)
    end
  end)
end)
