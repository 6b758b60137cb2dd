# SPDX-License-Identifier: Apache-2.0
"""Packets that libmoon's casts fill, with the checksums left to the device, against
the same packets by Scapy."""

import re

import pytest
from scapy.all import (
    ARP, GRE, ICMP, IP, TCP, UDP, DNS, Dot1Q, Ether, ICMPv6EchoReply,
    ICMPv6EchoRequest, IPv6, Raw, VXLAN)
from scapy.layers.ipsec import ESP

from helpers import capture
from helpers.command import PERIGEE, run

# A packet of `size` zeros that a piece of Lua fills; its bytes in hex.
SCRIPT = """
local ffi = require("ffi")
local packet = require("core.packet")
require("moongen.packets.buffer")
local createStack = require("moongen.packets.stack").create
ffi.cdef('void offload_here(struct packet **, unsigned) __asm__("pg_offload_here");')
local bufs = ffi.new("struct packet *[1]")
for line in io.lines() do
  local size, code = line:match("^(%d+) (.*)$")
  local p = packet.resize(packet.allocate(), tonumber(size))
  local chunk = assert(loadstring("local p, createStack = ... " .. code))
  chunk(p, createStack)
  bufs[0] = p
  ffi.C.offload_here(bufs, 1)
  print((ffi.string(p.data, p.length):gsub(".", function (c)
    return ("%02x"):format(c:byte())
  end)))
  packet.free(p)
end
"""

MACS = {"src": "01:02:03:04:05:06", "dst": "07:08:09:0a:0b:0c"}
ETHER = Ether(**MACS)
FOUR = IP(src="192.168.1.1", dst="192.168.1.2", id=0)
SIX = IPv6(src="fe80::1", dst="fe80::2", hlim=64)

CASES = {
    "udp": (60, "p:getUdpPacket():fill{ip4Src = '10.0.0.1', udpDst = 42, pktLength = 60}"
            " p:offloadUdpChecksum()",
            ETHER / IP(src="10.0.0.1", dst="192.168.1.2", id=0)
            / UDP(sport=1024, dport=42) / Raw(bytes(18))),
    "udp over IPv6": (80, "p:getUdp6Packet():fill{ip6TrafficClass = 3, udpSrc = 5,"
                      " ip6FlowLabel = 77, pktLength = 80} p:offloadUdpChecksum(false)",
                      ETHER / IPv6(src="fe80::1", dst="fe80::2", tc=3, fl=77, hlim=64)
                      / UDP(sport=5, dport=1025) / Raw(bytes(18))),
    "tcp": (61, "p:getTcpPacket():fill{tcpSyn = 1, tcpPsh = 1, tcpSeqNumber = 4000000000,"
            " tcpAckNumber = 7, tcpUrgentPointer = 3, pktLength = 61}"
            " p:offloadTcpChecksum()",
            ETHER / FOUR / TCP(sport=1025, dport=1024, flags="SP", seq=4000000000, ack=7,
                               window=29200, urgptr=3) / Raw(bytes(7))),
    "tcp over IPv6": (99, "p:getTcpPacket(false):fill{tcpAck = true, pktLength = 99}"
                      " p:offloadTcpChecksum(false)",
                      ETHER / SIX / TCP(sport=1025, dport=1024, flags="A", window=29200)
                      / Raw(bytes(25))),
    "tcp with options": (78, "local pkt = createStack('eth', 'ip4', {'tcp', length = 12})"
                         "(p) pkt:fill{pktLength = 78} pkt.tcp:setMssOption(0, 1460)"
                         " for i = 4, 11 do pkt.tcp:setNopOption(i) end"
                         " p:offloadTcpChecksum()",
                         ETHER / FOUR / TCP(sport=1025, dport=1024, flags="", window=29200,
                                            options=[("MSS", 1460)] + [("NOP", None)] * 8)
                         / Raw(bytes(12))),
    "ip4": (60, "p:getIP4Packet():fill{ip4Protocol = 253, ip4TOS = 4, ip4ID = 9,"
            " ip4Flags = 2, ip4Fragment = 0, ip4TTL = 3, pktLength = 60}"
            " p:offloadIPChecksum()",
            ETHER / IP(src="192.168.1.1", dst="192.168.1.2", id=9, tos=4, flags="DF",
                       ttl=3, proto=253) / Raw(bytes(26))),
    "icmp": (60, "local pkt = p:getIcmpPacket() pkt:fill{pktLength = 60}"
             " pkt.icmp.body.uint16[1] = 0x0700 pkt.icmp:calculateChecksum(26)"
             " p:offloadIPChecksum()",
             ETHER / FOUR / ICMP(type=8, id=0, seq=7) / Raw(bytes(18))),
    "icmp over IPv6": (70, "local pkt = p:getIcmpPacket(false)"
                       " pkt:fill{icmpType = 128, pktLength = 70}"
                       " pkt.icmp:setChecksum(0x1234)",
                       ETHER / SIX / ICMPv6EchoRequest(cksum=0x1234)
                       / Raw(bytes(8))),
    "icmp, all sums": (60, "local pkt = p:getIcmpPacket() pkt:fill{pktLength = 60}"
                       " pkt.icmp.body.uint16[1] = 0x0700 pkt:calculateChecksums()",
                       ETHER / FOUR / ICMP(type=8, id=0, seq=7) / Raw(bytes(18))),
    "icmp over IPv6, all sums": (71, "local pkt = p:getIcmpPacket(false)"
                                 " pkt:fill{icmpType = 128, pktLength = 71}"
                                 " pkt:calculateChecksums()",
                                 ETHER / SIX / ICMPv6EchoRequest() / Raw(bytes(9))),
    "icmp over IPv6, its sum": (62, "local pkt = p:getIcmp6Packet()"
                                " pkt:fill{icmpType = 129, pktLength = 62}"
                                " pkt:calculateIcmpChecksum()",
                                ETHER / SIX / ICMPv6EchoReply()),
    "arp": (42, "p:getArpPacket():fill{arpOperation = 2, arpProtoSrc = '10.0.0.9',"
            " arpHardwareSrc = '02:00:00:00:00:09', ethDst = 'ff:ff:ff:ff:ff:ff'}",
            Ether(src=MACS["src"], dst="ff:ff:ff:ff:ff:ff")
            / ARP(op=2, psrc="10.0.0.9", hwsrc="02:00:00:00:00:09", pdst="4.5.6.7",
                  hwdst=MACS["dst"])),
    "vlan": (60, "p:getEthVlanPacket():fill{ethVlan = 0x6005, ethType = 0x1234}",
             ETHER / Dot1Q(vlan=5, prio=3, type=0x1234) / Raw(bytes(42))),
    "vlan by the device": (60, "p:getUdpPacket():fill{pktLength = 60} p:setVlan(9, 2, 1)"
                           " p:offloadUdpChecksum()",
                           ETHER / Dot1Q(vlan=9, prio=2, id=1) / FOUR
                           / UDP(sport=1024, dport=1025) / Raw(bytes(18))),
    "qinq": (60, "p:getEthQinQPacket():fill{ethouterVlanTag = 5, ethinnerVlanTag = 6,"
             " ethType = 0x1234}",
             ETHER / Dot1Q(vlan=5) / Dot1Q(vlan=6, type=0x1234) / Raw(bytes(38))),
    "vxlan": (120, "p:getVxlanEthernetPacket():fill{vxlanVNI = 0x123456,"
              " innerEthDst = 'aa:bb:cc:dd:ee:ff', pktLength = 120}"
              " p:offloadUdpChecksum()",
              ETHER / FOUR / UDP(sport=1024, dport=4789) / VXLAN(vni=0x123456, flags=8)
              / Ether(src=MACS["src"], dst="aa:bb:cc:dd:ee:ff", type=0x0800)
              / Raw(bytes(56))),
    "gre": (60, "p:getGrePacket():fill{greProto = 0x0800, pktLength = 60}"
            " p:offloadIPChecksum()",
            ETHER / FOUR / GRE(proto=0x0800) / Raw(bytes(22))),
    "esp": (60, "p:getEspPacket():fill{espSPI = 5, espSQN = 6, pktLength = 60}"
            " p:offloadIPChecksum()",
            ETHER / FOUR / ESP(spi=5, seq=6, data=bytes(18))),
    "dns": (60, "p:getDnsPacket():fill{dnsId = 7, dnsRecDesired = 1, dnsRCode = 3,"
            " pktLength = 60} p:offloadUdpChecksum()",
            ETHER / FOUR / UDP(sport=1024, dport=53)
            / DNS(id=7, rd=1, rcode=3, qd=None) / Raw(bytes(6))),
}


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """The bytes of all cases, by their names."""
    script = tmp_path_factory.mktemp("moongen") / "packets.lua"
    script.write_text(SCRIPT)
    lines = "".join(f"{size} {code}\n" for size, code, _ in CASES.values())
    said = run(PERIGEE, "run", script, input=lines)
    assert said.returncode == 0, said.stderr
    assert said.stderr == ""
    return dict(zip(CASES, said.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_as_scapy_has_it(ours, name):
    assert ours[name] == bytes(CASES[name][2]).hex()


def test_a_length_beyond_the_buffer_is_not_sent(tmp_path):
    """Of a burst the others go, with their checksums; what lies behind a buffer doesn't."""
    script = tmp_path / "script.lua"
    script.write_text("""
        local device, memory = require "device", require "memory"
        function master()
          local queue = device.config{port = 0}:getTxQueue(0)
          for _, length in ipairs{600, 3000, 65535} do
            local bufs = memory.createMemPool(function (buf)
              buf:getUdpPacket():fill{pktLength = 100}
            end):bufArray(3)
            bufs:alloc(100)
            bufs[2].length = length
            bufs:offloadUdpChecksums()
            queue:send(bufs)
          end
          local buf = memory.createMemPool():alloc(60)
          for _, call in ipairs{
            function () buf:getUdpPacket():setLength("x") end,
            function () buf:getUdpPacket():calculateUdpChecksum() end,
            function () buf:dump("x") end,
          } do print(select(2, pcall(call))) end
        end
    """)
    result = run(PERIGEE, "moongen", "--port", "0=pcap:tx=out.pcap", script, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert re.search("2 packets lost: of a length that is set to more than their buffers hold",
                     result.stdout + result.stderr)
    sent = list(capture.load(tmp_path / "out.pcap"))
    assert sorted(map(len, sent)) == [100] * 6 + [600]
    assert all(packet[40:42] != bytes(2) for packet in sent if len(packet) == 100)
    assert "setLength takes a number of bytes, not 'x'" in result.stdout
    assert "the checksum takes the packet's data, and its length in bytes" in result.stdout
    assert "arithmetic" not in result.stdout
