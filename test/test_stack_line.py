# SPDX-License-Identifier: Apache-2.0
"""Packets on one line, as dump("line") writes them, against tcpdump."""

import random
import shutil
import subprocess

import pytest
from scapy.all import (
    ARP, GRE, ICMP, IP, TCP, UDP, Dot1Q, Ether, ICMPv6EchoReply, ICMPv6EchoRequest,
    ICMPv6ND_NA, ICMPv6ND_NS, IPv6, Padding, Raw, wrpcap)

from helpers.command import PERIGEE, run

SEED = 20261122

SCRIPT = """
local packet = require("core.packet")
local stack = require("lib.stack")
for text in io.lines() do
  local p = packet.from_string((text:gsub("%x%x", function (digits)
    return string.char(tonumber(digits, 16))
  end)))
  stack.resolve(p):dump("line")
  packet.free(p)
end
"""

pytestmark = pytest.mark.skipif(not shutil.which("tcpdump"), reason="needs tcpdump")


def tcp_packets(rng, ip):
    """Segments with and without data, with all flags and the usual options."""
    for flags in ("S", "SA", "A", "PA", "FA", "R", "RA", "", "SEC", "FSRPAUEC"):
        options = rng.choice(([], [("MSS", 1460), ("NOP", None), ("WScale", 7),
                                   ("SAckOK", b""), ("Timestamp", (5, 0))]))
        data = rng.randbytes(rng.choice((0, 1, 99)))
        yield ip / TCP(sport=rng.randint(20000, 30000), dport=40000, flags=flags,
                       seq=rng.choice((0, 1000, 2**32 - 3)), ack=rng.getrandbits(32),
                       window=rng.getrandbits(16), urgptr=7, options=options) / data


def packets():
    """Frames of the common protocols."""
    rng = random.Random(SEED)
    ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    four = IP(src="192.0.2.1", dst="198.51.100.9")
    six = IPv6(src="2001:db8::1", dst="2001:db8:0:1::2")
    for ip in (four, six):
        for packet in tcp_packets(rng, ip):
            yield ether / packet
        for size in (0, 1, 500):
            yield ether / ip / UDP(sport=20001, dport=40001) / rng.randbytes(size)
    yield ether / Dot1Q(vlan=5) / four / UDP(sport=20001, dport=40001) / b"abc"
    yield ether / four / UDP(sport=20001, dport=40001) / b"ab" / Padding(b"\0" * 16)
    yield ether / six / TCP(sport=20001, dport=40001) / Padding(b"\0" * 90)
    for kind in (8, 0):
        yield ether / four / ICMP(type=kind, id=77, seq=3) / rng.randbytes(56)
    quoted = bytes(IP(src="198.51.100.9", dst="192.0.2.1")
                   / UDP(sport=20001, dport=40001) / b"abcd")
    for code in (0, 1, 2, 3):
        yield ether / four / ICMP(type=3, code=code) / Raw(quoted)
    yield ether / four / ICMP(type=3, code=4, nexthopmtu=1400) / Raw(quoted)
    yield ether / four / ICMP(type=11, code=0) / Raw(quoted)
    yield ether / four / ICMP(type=11, code=1) / Raw(quoted)
    for message in (ICMPv6EchoRequest(id=9, seq=4, data=b"abc"),
                    ICMPv6EchoReply(id=9, seq=5), ICMPv6ND_NS(tgt="2001:db8::7"),
                    ICMPv6ND_NA(tgt="2001:db8::7")):
        yield ether / six / message
    yield ether / ARP(op=1, psrc="192.0.2.1", pdst="192.0.2.2", hwsrc=ether.src)
    yield ether / ARP(op=2, psrc="192.0.2.2", pdst="192.0.2.1", hwsrc=ether.dst)
    yield ether / ARP(op=2, psrc="192.0.2.2", hwsrc="02:00:00:00:00:02") / (b"\0" * 18)
    yield ether / four / GRE(key_present=1, key=7) / six / UDP(sport=20001, dport=40001)


def test_lines_are_those_of_tcpdump(tmp_path):
    """TCP, UDP, ICMP, ICMPv6, ARP, a VLAN tag, padding, GRE."""
    frames = [bytes(packet) for packet in packets()]
    capture = tmp_path / "some.pcap"
    wrpcap(str(capture), [Ether(frame) for frame in frames])
    script = tmp_path / "line.lua"
    script.write_text(SCRIPT)
    said = run(PERIGEE, "run", script, input="".join(f.hex() + "\n" for f in frames))
    assert said.returncode == 0, said.stderr
    wanted = subprocess.run(["tcpdump", "-n", "-S", "-t", "-r", str(capture)],
                            capture_output=True, text=True, check=True, timeout=60)
    ours, theirs = said.stdout.splitlines(), wanted.stdout.splitlines()
    assert len(theirs) == len(frames)
    assert ours == theirs
