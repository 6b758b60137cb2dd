-- SPDX-License-Identifier: Apache-2.0
-- DNS, DHCP, BFD, sFlow and IPFIX against bytes written down from their formats.

local ffi = require("ffi")
local packet = require("core.packet")
local ipfix = require("lib.stack.body.ipfix")
local stack = require("lib.stack")

local START = 42 -- behind Ethernet, IPv4 and UDP

-- An eth/ip4/udp packet with `item` on top, filled; and its bytes from there (hex).
local function build(item, args)
  local p = packet.allocate()
  ffi.fill(p.data, 512, 0xee)
  local pkt = stack.createStack("eth", "ip4", "udp", item)(p)
  pkt:fill(args)
  local function hex(first, last)
    local text = ffi.string(p.data + START + first, last - first + 1)
    return (text:gsub(".", function (c) return ("%02x"):format(c:byte()) end))
  end
  return p, hex, pkt
end

local function last_name(p)
  local args = stack.resolve(p):getArgs()
  local last = args[#args]
  return type(last) == "table" and last[1] or last
end

local function port(p) return p.data[36] * 256 + p.data[37] end

describe("lib.stack: dns", function ()
  it("is RFC 1035's, with a question behind it", function ()
    local p, hex, pkt = build({"dns", length = 17}, {dnsId = 0x1234, dnsRD = 1,
      dnsQDCount = 1})
    ffi.copy(pkt.dns.body, "\7example\3org\0\0\1\0\1", 17)
    assert.equal("123401000001000000000000", hex(0, 11))
    assert.equal("07", hex(12, 12))
    assert.equal(7, pkt.dns:getMessageContent()[0])
    assert.equal(53, port(p))
    assert.equal("dns", last_name(p))
    assert.equal(START + 29, p.length)
    packet.free(p)
  end)

  it("has libmoon's labels and methods", function ()
    local p, hex, pkt = build("dns", {dnsId = 1, dnsResp = 1, dnsQueryType = 2,
      dnsAuthAnswer = 1, dnsTruncated = 1, dnsRecDesired = 1, dnsRecAvailable = 1,
      dnsRCode = 3})
    assert.equal("00019783", hex(0, 3))
    pkt.dns:unsetQR()
    pkt.dns:unsetRA()
    assert.equal("1703", hex(2, 3))
    pkt.dns:setQR()
    assert.equal(1, pkt.dns:getQR())
    packet.free(p)
  end)
end)

describe("lib.stack: dhcp", function ()
  it("is RFC 2131's", function ()
    local p, hex = build({"dhcp", length = 4}, {dhcpTransactionID = 0x3903f326,
      dhcpBroadcast = 1, dhcpYourIP = "192.0.2.7", dhcpClientMac = "00:05:3c:04:8d:59"})
    assert.equal("010106003903f32600008000", hex(0, 11))
    assert.equal("00000000" .. "c0000207" .. "00000000" .. "00000000", hex(12, 27))
    assert.equal("00053c048d59" .. ("00"):rep(10 + 64 + 128), hex(28, 235))
    assert.equal("63825363" .. "00000000", hex(236, 243))
    assert.equal(67, port(p))
    assert.equal("dhcp", last_name(p))
    packet.free(p)
  end)

  it("needs its magic cookie", function ()
    local p = build("dhcp", {dhcpCookie = 1})
    local complaints = select(2, stack.resolve(p):verify())
    assert.truthy(table.concat(complaints, "; "):find("its magic cookie is wrong"))
    packet.free(p)
  end)
end)

describe("lib.stack: bfd", function ()
  it("is RFC 5880's", function ()
    local p, hex = build("bfd", {bfdState = 3, bfdDiagnostic = 1, bfdPoll = 1,
      bfdMyDiscriminator = 0x01020304, bfdYourDiscriminator = 0xfffefdfc,
      bfdRequiredMinEchoRxInterval = 50000})
    assert.equal("21e003180102030" .. "4fffefdfc000f4240000f42400000c350", hex(0, 23))
    assert.equal(3784, port(p))
    assert.equal("bfd", last_name(p))
    packet.free(p)
  end)

  it("has an authentication section of the size that its length says", function ()
    local p, hex = build({"bfd", length = 9}, {bfdAuthentication = 1})
    assert.equal("21", hex(3, 3)) -- 33 bytes
    assert.equal(START + 33, p.length)
    packet.free(p)
  end)
end)

describe("lib.stack: sflow", function ()
  it("is version 5's, from an IPv4 agent", function ()
    local p, hex = build("sflow", {sflowAgentIp = "10.0.0.1", sflowSeq = 3,
      sflowUptime = 0xf0000000, sflowNumSamples = 1})
    assert.equal("00000005" .. "00000001" .. "0a000001" .. "00000000" .. "00000003"
      .. "f0000000" .. "00000001", hex(0, 27))
    assert.equal(6343, port(p))
    assert.equal("sflow", last_name(p))
    packet.free(p)
  end)

  it("is that from an IPv6 agent", function ()
    local p, hex, pkt = build({"sflow", subType = "ip6"},
      {sflowAgentIp = "2001:db8::1"})
    assert.equal("0000000500000002" .. "20010db8000000000000000000000001", hex(0, 23))
    assert.equal(START + 40, p.length)
    assert.equal("2001:db8::1", stack.resolve(p).sflow:getAgentIpString())
    assert.equal("2001:db8::1", pkt.sflow:getAgentIpString())
    packet.free(p)
  end)

  it("iterates over its samples, within the packet", function ()
    local p, _, pkt = build({"sflow", subType = "ip4", length = 20},
      {sflowNumSamples = 2})
    ffi.copy(pkt.sflow.payload, "\0\0\0\2\0\0\0\12\0\0\0\1\0\0\0\2\0\0\0\0", 20)
    local seen = {}
    for i, sample in pkt.sflow:iterateSamples(p.length - START) do
      seen[i] = sample:getString()
    end
    assert.same({"Counters sample: Type 2, Len 12, Seq 1, SourceId 2, NumEntries 0"},
      seen)
    local ok, err = pcall(function () pkt.sflow:iterateSamples() end)
    assert.is_false(ok)
    assert.equal("iterateSamples needs the number of bytes from the sFlow header "
      .. "to the end of the packet, not nil", tostring(err))
    packet.free(p)
  end)
end)

describe("lib.stack: ipfix", function ()
  it("is RFC 7011's, with a set behind it", function ()
    local set = ipfix:createTmplSet(256, {{id = 8, length = 4}})
    local p, hex, pkt = build("ipfix", {ipfixExportTime = 0x11223344, ipfixSeq = 5,
      ipfixObservationDomain = 6, pktLength = START + 16 + 12})
    ipfix:copyTo(pkt.payload.uint8, 0, set)
    assert.equal("000a001c112233440000000500000006", hex(0, 15))
    assert.equal("0002000c0100000100080004", hex(16, 27))
    assert.equal(4739, port(p))
    assert.equal("ipfix", last_name(p))
    packet.free(p)
  end)
end)
