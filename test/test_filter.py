# SPDX-License-Identifier: Apache-2.0
"""lib.filter against tcpdump: random expressions on random, mutated packets."""

import os
import pathlib
import random
import shutil
import struct
import subprocess

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrHopByHop
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.utils import RawPcapReader

from helpers.command import PERIGEE, run

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEED = random.randrange(2**32)

pytestmark = pytest.mark.skipif(not shutil.which("tcpdump"), reason="needs tcpdump")


def random_packet(rng):
    source, target = (f"10.0.{rng.randrange(2)}.{rng.randrange(3)}" for _ in "ab")
    source6, target6 = (f"2001:db8:{rng.randrange(2)}::{rng.randrange(3)}"
                        for _ in "ab")
    ports = {"sport": rng.choice([53, 80, 1024]), "dport": rng.choice([53, 80, 443])}
    top = rng.choice([TCP(**ports, flags=rng.choice(["S", "SA", "A", "F", "R"])),
                      UDP(**ports), ICMP()])
    ip = IP(src=source, dst=target, ttl=rng.randrange(256),
            frag=rng.choice([0, 0, 0, 100]),
            options=rng.choice([[], [], b"\1\1\1\0"])) / top
    ip6 = IPv6(src=source6, dst=target6) / rng.choice([top, IPv6ExtHdrHopByHop() / top])
    tag = rng.choice([b"", b"", Dot1Q(vlan=rng.randrange(3))])
    ether = Ether(src="02:00:00:00:00:01", dst=rng.choice(
        ["02:00:00:00:00:02", "ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01"]))
    payload = rng.choice([ip, ip, ip6, ip6, ARP(psrc=source, pdst=target)])
    return bytes(ether / tag / payload if tag else ether / payload) + \
        rng.randbytes(rng.randrange(50))


def mutated(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([0, 0, 1, 3])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data[:rng.choice([len(data), len(data), rng.randrange(1, len(data))])])


PRIMITIVES = """
ip; ip6; arp; rarp; tcp; udp; icmp; icmp6; vlan; vlan 1; multicast;
ether broadcast; ether multicast; ether host 02:00:00:00:00:02; ether proto 0x86dd;
host 10.0.0.1; src host 10.0.1.2; dst net 10.0.1.0/24; net 10.0.0.0 mask 255.255.254.0;
ip6 host 2001:db8::1; src net 2001:db8:1::/48; port 53; src port 80; dst port 443;
tcp port 80; udp dst port 53; portrange 60-90; tcp portrange 1-1000; less 60;
greater 80; len > 70; ip proto 17; ip6 proto 6; ip[8] < 64; ip[0] & 0xf != 5;
ip[6:2] & 0x1fff = 0; tcp[13] & 2 != 0; tcp[tcpflags] & (tcp-syn|tcp-fin) != 0;
udp[4:2] > 20; icmp[icmptype] = icmp-echo; ip[2:2] - ((ip[0] & 0xf) << 2) > 20;
ether[0] & 1 = 1; ip[12:4] * 3 / 2 % 7 = 2; ip[8] >> 2 | 1 = 5; tcp[8:4] ^ 5 = 5;
(ip[2:2] - ip[8]) % (ip[9] - 5) = 1; ether[len - 1] = 0; ip[ip[8]] = 0;
ip protochain 6; ip6 protochain 17; -ip[8] < 0xffffff80; 1 << ip[8] = 0
"""
KNOWN = [text.strip() for text in PRIMITIVES.split(";")]


def random_expression(rng):
    text = rng.choice(KNOWN)
    for _ in range(rng.choice([0, 0, 1, 2, 4])):
        text = f"({text}) {rng.choice(['and', 'or', 'and not'])} ({rng.choice(KNOWN)})"
    return text if rng.randrange(4) else f"not ({text})"


def write_pcap(path, packets):
    """The packets, whose times (s) are their numbers."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number, data in enumerate(packets):
            file.write(struct.pack("<IIII", number, 0, len(data), len(data)) + data)


def tcpdump(path, expression, out):
    """The numbers of the packets that tcpdump lets pass (their time is theirs)."""
    result = subprocess.run(["tcpdump", "-r", path, "-w", out, "--", expression],
                            capture_output=True, text=True, timeout=30)
    if "expression rejects all packets" in result.stderr:
        return set()
    if result.returncode != 0:
        return None
    return {meta.sec for _, meta in RawPcapReader(str(out))}


def test_agrees_with_tcpdump(tmp_path):
    rng = random.Random(SEED)
    packets = [mutated(rng, random_packet(rng)) for _ in range(400)]
    path = tmp_path / "in.pcap"
    write_pcap(path, packets)
    expressions = KNOWN + [random_expression(rng) for _ in range(150)]
    command = [ROOT / "perigee", "run", ROOT / "test" / "filter.lua", path]
    lines = subprocess.run([*command, *expressions], capture_output=True, text=True,
                           timeout=60, check=True).stdout.splitlines()
    assert len(lines) == len(expressions)
    passed = 0
    for expression, line in zip(expressions, lines):
        expected = tcpdump(path, expression, tmp_path / "out.pcap")
        if expected is None:
            assert line == "refused", (SEED, expression)
            continue
        assert line != "refused", (SEED, expression)
        found = {i for i, verdict in enumerate(line) if verdict == "1"}
        assert found == expected, (SEED, expression)
        passed += len(found)
    assert passed > 1000


@pytest.mark.skipif(os.geteuid() != 0, reason="hides /etc/protocols, as root")
def test_names_of_protocols_are_known_without_etc_protocols(tmp_path):
    names = "icmp igmp tcp igrp udp esp ah icmp6 pim vrrp sctp".split()
    script = tmp_path / "names.lua"
    script.write_text("".join(f'require("lib.filter").new("ip proto {name}")\n'
                              f'require("lib.filter").new("ip6 proto \\\\{name}")\n'
                              for name in names))
    hidden = '[ ! -e /etc/protocols ] || mount --bind /dev/null /etc/protocols; "$@"'
    result = run("unshare", "--mount", "sh", "-c", hidden, "sh", PERIGEE, "run", script)
    assert result.returncode == 0, result.stderr
