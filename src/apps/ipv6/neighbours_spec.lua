-- SPDX-License-Identifier: Apache-2.0
-- Neighbours and pings of both IP versions: arp, nd_light, ns_responder, echo. The
-- kernel's answers are in test/test_fragments.py.

local ARP = require("apps.ipv4.arp").ARP
local Echo4 = require("apps.ipv4.echo").ICMPEcho
local Echo6 = require("apps.ipv6.echo").ICMPEcho
local checksum = require("lib.checksum")
local ethernet = require("lib.protocol.ethernet")
local ffi = require("ffi")
local ipv4 = require("lib.protocol.ipv4")
local ipv6 = require("lib.protocol.ipv6")
local nd = require("net.neighbor.nd")
local nd_light = require("apps.ipv6.nd_light").nd_light
local ns_responder = require("apps.ipv6.ns_responder").ns_responder
local packet = require("core.packet")
local testing = require("testing.harness")
local bytes_of = require("testing.support").bytes_of

local ENDS = {"north", "south"}
local US, THEM = ethernet:pton("02:00:00:00:00:01"), ethernet:pton("02:00:00:00:00:02")
local US6, THEM6 = ipv6:pton("2001:db8::1"), ipv6:pton("2001:db8::2")

local function quietly(func, ...)
  local say = print
  _G.print = function () end
  local results = {pcall(func, ...)}
  _G.print = say
  assert(results[1], results[2])
  return unpack(results, 2)
end

local function through(app, frames, input, output)
  return quietly(testing.through, app, frames, input, output)
end

local function solicitation(mac, from, target)
  return bytes_of(nd.solicitation(mac, from, target))
end

-- The answer to such a frame.
local function advertisement(mac, ip, asked)
  local p = packet.from_string(asked)
  local bytes = bytes_of(nd.advertisement(mac, ip, p.data, 0))
  packet.free(p)
  return bytes
end

local frame = ("\0"):rep(12) .. "\8\0payload"

describe("ARP", function ()
  local function app(changes)
    local arg = {self_mac = US, self_ip = ipv4:pton("192.0.2.1"),
      next_ip = ipv4:pton("192.0.2.2")}
    for key, value in pairs(changes or {}) do arg[key] = value end
    return testing.app(ARP, arg, ENDS, ENDS)
  end
  local us, them = ffi.string(US, 6), ffi.string(THEM, 6)
  local function arp(operation, dst, mac, ip, to_mac, to_ip)
    return dst .. mac .. "\8\6\0\1\8\0\6\4\0" .. operation .. mac .. ip .. to_mac
      .. to_ip
  end
  local ip1, ip2, nobody = "\192\0\2\1", "\192\0\2\2", ("\0"):rep(6)

  it("asks, lets packets wait, and sends them when it knows", function ()
    local a = app()
    assert.same({arp("\1", ("\255"):rep(6), us, ip1, nobody, ip2)},
      through(a, {frame}, "north", "south"))
    assert.same({}, through(a, {}, "north", "south"))
    local reply = arp("\2", us, them, ip2, us, ip1)
    assert.same({them .. us .. "\8\0payload"}, through(a, {reply}, "south", "south"))
    assert.equal(1, testing.count(a, "in-arp-reply-packets"))
    assert.equal(42, testing.count(a, "out-arp-request-bytes"))
    assert.equal(0x020000000002, tonumber(bit.bswap(a.shm["next-hop-macaddr-v4"].c)
      / 65536ULL))
  end)

  it("answers for its own address, and passes the rest", function ()
    local a = app{next_mac = THEM}
    local question = arp("\1", ("\255"):rep(6), them, ip2, nobody, ip1)
    assert.same({arp("\2", them, us, ip1, them, ip2)},
      through(a, {question, arp("\1", us, them, ip2, nobody, ip2)}, "south", "south"))
    assert.same({frame}, through(a, {frame, "short"}, "south", "north"))
    assert.equal(1, testing.count(a, "drop-arp-invalid-packets"))
    testing.at_the_edge(a, "south", 3000, function ()
      return testing.mutate(question, 12)
    end)
  end)
end)

describe("nd_light", function ()
  local function app(changes)
    local arg = {local_mac = US, local_ip = "2001:db8::1", next_hop = "2001:db8::2",
      delay = 1000, quiet = true}
    for key, value in pairs(changes or {}) do arg[key] = value end
    return testing.app(nd_light, arg, ENDS, ENDS)
  end

  it("asks, and knows from then on", function ()
    local a = app()
    local asked = through(a, {frame}, "north", "south")
    assert.same({solicitation(US, US6, THEM6)}, asked)
    assert.equal(1, testing.count(a, "txdrop"))
    assert.same({},
      through(a, {advertisement(THEM, THEM6, asked[1])}, "south", "north"))
    assert.equal(1, testing.count(a, "status"))
    assert.same({ffi.string(THEM, 6) .. ffi.string(US, 6) .. "\134\221payload"},
      through(a, {frame, "short"}, "north", "south"))
    assert.equal(1, testing.count(a, "txerrors"))
    through(a, {advertisement(THEM, THEM6, asked[1])}, "south", "north")
    assert.equal(1, testing.count(a, "na_duplicate_errors"))
    a:stop()
  end)

  it("believes no next hop at a group's address", function ()
    local a = app()
    local asked = through(a, {}, "north", "south")
    through(a, {advertisement("\1\0\94\0\0\1", THEM6, asked[1])}, "south", "north")
    assert.same({0, 0, 1}, {testing.count(a, "na_duplicate_errors"),
      testing.count(a, "status"), testing.count(a, "nd_protocol_errors")})
    a:stop()
  end)

  it("asks again at times, and gives up after `retrans` of them", function ()
    local now = engine.now
    local time, a = 100, app{delay = 2000, retrans = 2}
    engine.now = function () return time end
    local ok, problem = pcall(function ()
      local asked = {}
      for _ = 1, 5 do
        asked[#asked + 1] = #through(a, {}, "south", "south")
        time = time + 1
      end
      assert.same({1, 0, 1, 0, 1}, asked)
      time = time + 1
      through(a, {}, "south", "south")
    end)
    engine.now = now
    assert.is_false(ok)
    assert.equal("ND for next hop 2001:db8::2 has failed", tostring(problem))
    a:stop()
  end)

  it("has no group's address", function ()
    assert.has_error(function () app{local_mac = "01:00:5e:00:00:01"} end,
      "nd_light's own MAC address can't be 01:00:5e:00:00:01, which is a group's; give "
        .. "a station's, whose first byte is even")
  end)

  it("answers for its own address, and refuses what is wrong", function ()
    local a = app{remote_mac = THEM}
    local asked = solicitation(THEM, THEM6, US6)
    assert.same({advertisement(US, US6, asked)}, through(a, {asked}, "south", "south"))
    local far = asked:sub(1, 21) .. "\254" .. asked:sub(23)
    local wrong = asked:sub(1, -2) .. "\9"
    assert.same({}, through(a, {solicitation(THEM, THEM6, THEM6), far, wrong}, "south",
      "south"))
    for _, name in ipairs{"ns_target_address_errors", "nd_protocol_errors",
                          "ns_checksum_errors"} do
      assert.same({name, 1}, {name, testing.count(a, name)})
    end
    assert.same({frame}, through(a, {frame}, "south", "north"))
    testing.at_the_edge(a, "south", 3000, function ()
      return testing.mutate(asked, 12)
    end)
    a:stop()
  end)
end)

local hex = require("net.wire.bytes").from_hex

describe("ns_responder", function ()
  -- From Scapy: a solicitation with a nonce (RFC 3971) before its address, the answer.
  local with_nonce = hex(
    "3333ff00000102000000000286dd6000000000283aff20010db8000000000000"
      .. "000000000002ff0200000000000000000001ff0000018700cc29000000002001"
      .. "0db80000000000000000000000010e016e6f6e6365210101020000000002")
  local answer = hex(
    "02000000000202000000000186dd6000000000203aff20010db8000000000000"
      .. "00000000000120010db80000000000000000000000028800aa73400000002001"
      .. "0db80000000000000000000000010201020000000001")

  it("heeds the option it knows, and answers in bytes", function ()
    local a = testing.app(ns_responder, {local_ip = US6, local_mac = US}, ENDS, ENDS)
    assert.same({answer}, through(a, {with_nonce}, "south", "south"))
    local asked = solicitation(THEM, THEM6, US6)
    assert.same({answer}, through(a, {asked}, "south", "south"))
  end)

  it("has no group's address", function ()
    assert.has_error(function ()
      testing.app(ns_responder, {local_ip = US6, local_mac = "\51\51\0\0\0\1"}, ENDS,
        ENDS)
    end, "ns_responder's own MAC address can't be 33:33:00:00:00:01, which is a "
      .. "group's; give a station's, whose first byte is even")
  end)

  it("answers nobody at a group's address", function ()
    local a = testing.app(ns_responder, {local_ip = US6, local_mac = US}, ENDS, ENDS)
    assert.same({}, through(a, {solicitation("\1\0\94\0\0\1", THEM6, US6)}, "south",
      "south"))
    assert.equal(1, testing.count(a, "drop_ns_invalid"))
  end)

  it("answers for its address", function ()
    local a = testing.app(ns_responder, {local_ip = US6, local_mac = US}, ENDS, ENDS)
    local asked = solicitation(THEM, THEM6, US6)
    assert.same({advertisement(US, US6, asked)}, through(a, {asked}, "south", "south"))
    assert.same({frame}, through(a, {frame, solicitation(THEM, THEM6, THEM6)}, "south",
      "north"))
    assert.equal(1, testing.count(a, "drop_ns_target"))
    assert.same({frame}, through(a, {frame}, "north", "south"))
    -- An option of length 0 had no end once.
    local endless = asked:sub(1, 79) .. "\0" .. asked:sub(81)
    assert.same({}, through(a, {endless}, "south", "south"))
    testing.at_the_edge(a, "south", 5000, function ()
      return testing.mutate(asked, 54)
    end)
  end)
end)

describe("ICMPEcho", function ()
  local function be16(n) return string.char(math.floor(n / 256), n % 256) end
  local macs = ffi.string(US, 6) .. ffi.string(THEM, 6)
  local back = ffi.string(THEM, 6) .. ffi.string(US, 6)

  local function ping4(kind, src, dst, ttl, macs_)
    local body = be16(checksum.ipsum(kind .. "\0\0\0data", 8, 0))
    local head = "\69\0\0\28\0\7\64\0" .. ttl .. "\1\0\0" .. src .. dst
    local sum = be16(checksum.ipsum(head, 20, 0))
    return macs_ .. "\8\0" .. head:sub(1, 10) .. sum .. head:sub(13) .. kind .. "\0"
      .. body .. "data"
  end

  it("answers IPv4's pings to its addresses #slow", function ()
    local us, them = "\192\0\2\1", "\192\0\2\2"
    local a = testing.app(Echo4, {addresses = {ipv4:pton("192.0.2.1")}}, ENDS, ENDS)
    local ping = ping4("\8", them, us, "\9", macs)
    assert.same({ping4("\0", us, them, "\64", back)},
      through(a, {ping}, "south", "south"))
    local others = {ping4("\8", us, them, "\9", macs),
      ping4("\0", them, us, "\9", macs), ping:sub(1, 41), frame}
    assert.same(others, through(a, others, "south", "north"))
    assert.same({frame}, through(a, {frame}, "north", "south"))
    assert.equal(42, testing.count(a, "out-icmpv4-echo-bytes"))
    testing.at_the_edge(a, "south", 3000, function ()
      return testing.mutate(ping, 12)
    end)
  end)

  it("answers IPv6's pings to its addresses", function ()
    local us, them = ffi.string(US6, 16), ffi.string(THEM6, 16)
    local function ping6(kind, src, dst, hops, macs_)
      local pseudo = src .. dst .. "\0\0\0\8\0\0\0\58" .. kind .. "\0\0\0data"
      return macs_ .. "\134\221\96\0\0\0\0\8\58" .. hops .. src .. dst .. kind .. "\0"
        .. be16(checksum.ipsum(pseudo, #pseudo, 0)) .. "data"
    end
    local a = testing.app(Echo6, {address = US6}, ENDS, ENDS)
    local ping = ping6("\128", them, us, "\9", macs)
    assert.same({ping6("\129", us, them, "\64", back)},
      through(a, {ping}, "south", "south"))
    local others = {ping6("\128", us, them, "\9", macs), ping:sub(1, 56), frame}
    assert.same(others, through(a, others, "south", "north"))
    testing.at_the_edge(a, "south", 3000, function ()
      return testing.mutate(ping, 12)
    end)
  end)
end)
