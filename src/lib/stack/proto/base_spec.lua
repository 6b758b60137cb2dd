-- SPDX-License-Identifier: Apache-2.0
-- The protocols from Ethernet to TCP against bytes written down from their standards.

local ffi = require("ffi")
local packet = require("core.packet")
local stack = require("lib.stack")

local function to_hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

-- {title, {items...}, labels, the bytes of the last headers (from byte `at` on)}
local cases = {
  {"Ethernet", {"eth"},
    {ethDst = "01:02:03:04:05:06", ethSrc = 0x0f0e0d0c0b0a, ethType = 0x88b5},
    0, "010203040506 0a0b0c0d0e0f 88b5"},
  {"a VLAN tag", {{"eth", subType = "vlan"}, "ip4"},
    {ethVlan = 0x123, ethPcp = 5, ethDei = 1}, 12, "8100 b123 0800"},
  {"a VLAN tag as one number", {{"eth", subType = "vlan"}, "ip6"},
    {ethTci = 0x6fff}, 12, "8100 6fff 86dd"},
  {"two VLAN tags", {{"eth", subType = "qinq"}, "arp"},
    {ethouterVlanTag = 0x456, ethinnerVlanTag = 0x789, ethInnerPcp = 7},
    12, "88a8 0456 8100 e789 0806"},
  {"three VLAN tags", {{"eth", subType = "qinq"}, "vlan", "ip4"},
    {vlanVlan = 9}, 12, "88a8 0001 8100 0001 8100 0009 0800"},
  {"ARP", {"eth", "arp"},
    {arpOperation = 2, arpHardwareSrc = "02:00:00:00:00:07", arpProtoSrc = "10.0.0.1",
     arpHardwareDst = "02:00:00:00:00:08", arpProtoDst = 0x0a000002},
    12, "0806 0001 0800 06 04 0002 020000000007 0a000001 020000000008 0a000002"},
  {"IPv4", {"eth", "ip4", "udp"},
    {ip4TOS = 0x2e, ip4ID = 0xabcd, ip4Flags = 2, ip4TTL = 9, ip4Src = "10.0.0.1",
     ip4Dst = "10.0.0.2", pktLength = 60},
    14, "45 2e 002e abcd 4000 09 11 0000 0a000001 0a000002 0400 0401 001a"},
  {"IPv4 with options", {"eth", {"ip4", length = 8}, "tcp"},
    {ip4Options = "\148\4\0\0\1\1\1\0", ip4Fragment = 0x1abc},
    14, "47 00 0030 0000 1abc 40 06 0000 c0a80101 c0a80102 94040000 01010100"},
  {"IPv4 in IPv4", {"eth", "ip4", {"ip4", name = "inner"}, "icmp"}, {},
    23, "04 0000 c0a80101 c0a80102 45 00 0018 0000 0000 40 01"},
  {"IPv6", {"eth", "ip6", "tcp"},
    {ip6TrafficClass = 0xab, ip6FlowLabel = 0xcdef1, ip6TTL = 255,
     ip6Src = "2001:db8::1", ip6Dst = "::ffff", pktLength = 80},
    14, "6abcdef1 001a 06 ff 20010db8000000000000000000000001"
      .. "0000000000000000000000000000ffff 0400 0401"},
  {"IPv6 in IPv4", {"eth", "ip4", "ip6"}, {}, 23,
    "29 0000 c0a80101 c0a80102 60000000 0000 3b 40"},
  {"hop-by-hop and destination options",
    {"eth", "ip6", "hopopts", {"destopts", length = 8}, "udp"},
    {hopoptsOptions = "\5\2\0\0\1\0", destoptsMoreOptions = "\1\6\0\0\0\0\0\0"},
    20, "00 40 fe800000000000000000000000000001 fe800000000000000000000000000002"
      .. "3c 00 050200000100 11 01 010400000000 0106000000000000 0400"},
  {"an IPv6 fragment", {"eth", "ip6", "fragment", "udp"},
    {fragmentIdentification = 0x01020304, fragmentMoreFragments = 1},
    54, "11 00 0001 01020304 0400"},
  {"a routing header", {"eth", "ip6", {"routing", length = 16}, "tcp"},
    {routingRoutingType = 2, routingSegmentsLeft = 1,
     routingData = ("\32"):rep(16)},
    54, "06 02 02 01 00000000 20202020202020202020202020202020 0400"},
  {"segment routing", {"eth", "ip6", {"srh", length = 16}, "ip4"},
    {srhTag = 0xbeef, srhFlags = 0x20, srhSegments = ("\253"):rep(16)},
    54, "04 02 04 00 00 20 beef fdfdfdfdfdfdfdfdfdfdfdfdfdfdfdfd 45"},
  {"ICMP echo", {"eth", "ip4", "icmp", "echo"},
    {icmpCode = 1, echoId = 0x1234, echoSequence = 7}, 34, "08 01 0000 1234 0007"},
  {"ICMPv6 echo", {"eth", "ip6", "icmp6", "echo"},
    {icmp6Type = 129, echoId = 0x1234, echoSequence = 7}, 54, "81 00 0000 1234 0007"},
  {"neighbour solicitation", {"eth", "ip6", "icmp6", "ns", "ndopt"},
    {nsTarget = "2001:db8::5", ndoptAddress = "02:00:00:00:00:09"},
    54, "87 00 0000 00000000 20010db8000000000000000000000005 01 01 020000000009"},
  {"neighbour advertisement", {"eth", "ip6", "icmp6", "na"}, {naRouter = 1},
    54, "88 00 0000 e0000000 fe800000000000000000000000000001"},
  {"router advertisement", {"eth", "ip6", "icmp6", "ra"}, {raManaged = 1},
    54, "86 00 0000 40 80 0708 00000000 00000000"},
  {"UDP", {"eth", "ip4", "udp"}, {udpSrc = 53, udpDst = 0xfffe, pktLength = 50},
    34, "0035 fffe 0010 0000"},
  {"TCP", {"eth", "ip4", "tcp"},
    {tcpSrc = 80, tcpDst = 0xc001, tcpSeqNumber = 0x01020304, tcpAckNumber = 0xfffffffe,
     tcpSyn = 1, tcpAck = 1, tcpWindow = 0x7fff, tcpUrgentPointer = 2},
    34, "0050 c001 01020304 fffffffe 50 12 7fff 0000 0002"},
  {"TCP flags as one number", {"eth", "ip4", {"tcp", length = 4}},
    {tcpFlags = 0xc2, tcpReserved = 1, tcpOptions = "\2\4\5\180"},
    46, "61 c2 ffff 0000 0000 020405b4"},
  {"SCTP", {"eth", "ip4", "sctp"}, {sctpSrc = 1, sctpVerificationTag = 0xdeadbeef},
    34, "0001 0401 deadbeef 00000000"},
  {"IGMP", {"eth", "ip4", "igmp"}, {igmpType = 0x16, igmpGroup = "224.0.0.251"},
    34, "16 64 0000 e00000fb"},
  {"PPPoE", {"eth", "pppoe", "ppp", "ip6"}, {pppoeSessionID = 0x1234},
    12, "8864 11 00 1234 002a 0057 60"},
  {"MPLS", {"eth", {"mpls", name = "outer"}, "mpls", "ip4"},
    {outerLabel = 0xabcde, outerTrafficClass = 5, mplsTTL = 3},
    12, "8847 abcdea40 00010103 45"},
  {"Ethernet over MPLS", {"eth", "mpls", {"eth", name = "inner"}}, {},
    12, "8847 00010140 020000000002"},
  {"LACP", {"eth", "lacp"},
    {lacpActorSysPriority = 1, lacpActorKey = 2, lacpActorPortId = 3,
     lacpActorSysId = "02:00:00:00:00:07", lacpActorState = 0x3d},
    12, "8809 01 01 01 14 0001 020000000007 0002 0000 0003 3d 000000 02 14"},
  {"PTP", {"eth", "ptp"}, {ptpMessageType = 11, ptpCorrection = 0x10000,
     ptpUuid = 0x0102030405, ptpSequenceID = 6, pktLength = 58},
    12, "88f7 0b 02 002c 00 00 0000 0000000000010000 00000000 000000 0102030405"
      .. "0001 0006 00 7f"},
  {"PTP over UDP", {"eth", "ip4", "udp", "ptp"}, {}, 36, "013f 002a 0000 00 02 0022"},
  {"GRE", {"eth", "ip4", "gre", {"ip6", name = "inner"}}, {}, 34, "0000 86dd 60"},
  {"GRE with a key and a sequence number",
    {"eth", "ip4", {"gre", with = {"Key", "Sequence"}}, {"eth", name = "inner"}},
    {greKey = 0x01020304, greSequence = 5}, 34, "3000 6558 01020304 00000005 0200"},
  {"AH", {"eth", "ip4", {"ah", length = 12}, "tcp"},
    {ahSPI = 0x100, ahSQN = 2, ahIcv = ("\170"):rep(12)},
    34, "06 04 0000 00000100 00000002 aaaaaaaaaaaaaaaaaaaaaaaa 0400"},
  {"AH of libmoon's form", {"eth", "ip6", {"ah", subType = "gmac"}},
    {ahIV = 3, ahICV = ("\1"):rep(16)},
    54, "3b 07 0000 00000000 00000000 0000000000000003"
      .. "01010101010101010101010101010101"},
  {"ESP", {"eth", "ip4", "esp"}, {espSPI = 0x100, espSQN = 2, espIV = 3},
    34, "00000100 00000002 0000000000000003"},
}

describe("a definition writes its standard's bytes:", function()
  for _, case in ipairs(cases) do
    local title, items, args, at, expected = unpack(case)
    it(title, function()
      local p = packet.allocate()
      ffi.fill(p.data, 256, 0xee)
      p.length = 0
      stack.createStack(unpack(items))(p):fill(args)
      expected = expected:gsub("%s", "")
      assert.equal(expected, to_hex(ffi.string(p.data + at, #expected / 2)))
      packet.free(p)
    end)
  end
end)
