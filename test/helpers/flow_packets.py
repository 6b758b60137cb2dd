# SPDX-License-Identifier: Apache-2.0
"""Packets of flows for the tests of `perigee record`, and what is to be told of them."""

import json
import random

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from helpers.capture import save
from helpers.schema import valid

ETHER = Ether(src="00:11:22:33:44:55", dst="50:44:33:22:11:00")
LETTERS = dict(zip("FSRPAUEC", range(8)))


def packet(dice):
    """A packet of one of some hundreds of flows."""
    size = Raw(bytes(dice.randrange(200)))
    ports = dict(sport=dice.randrange(1, 20), dport=dice.choice((53, 443)))
    ends = dict(src=f"10.0.0.{dice.randrange(1, 6)}", dst="198.51.100.7")
    if dice.random() < 0.3:
        ends = dict(src=f"2001:db8::{dice.randrange(1, 6):x}", dst="2001:db8:1::7")
    ip = (IPv6 if ":" in ends["src"] else IP)(**ends)
    kind = dice.random()
    if kind < 0.45:
        l4 = TCP(flags=dice.choice(("A", "PA", "S", "SA", "AU")), **ports) / size
    elif kind < 0.9:
        l4 = UDP(**ports) / size
    else:
        l4 = (ICMPv6EchoRequest() if isinstance(ip, IPv6) else ICMP(type=8)) / size
    tag = [ETHER, ETHER / Dot1Q(vlan=7), ETHER / Dot1Q(vlan=9) / Dot1Q(vlan=7)]
    return dice.choices(tag, (8, 1, 1))[0] / ip / l4


def packets(count, seed=1):
    dice = random.Random(seed)
    return [packet(dice) for _ in range(count)]


def key_of(p):
    ip = p.getlayer(IP) or p.getlayer(IPv6)
    l4 = ip.payload
    tags = [layer.vlan for layer in (p.getlayer(Dot1Q, 1), p.getlayer(Dot1Q, 2)) if layer]
    tags += [0] * (2 - len(tags))
    protocol = ip.proto if isinstance(ip, IP) else ip.nh
    if protocol in (1, 58):
        ports = (0, l4.type * 256 + l4.code)
    else:
        ports = (l4.sport, l4.dport)
    return (ip.src, ip.dst, protocol, *ports, *tags)


def flows_of(list_of_packets):
    """{key: (packets, bytes of IP, TCP flags)}"""
    found = {}
    for p in list_of_packets:
        key, ip = key_of(p), p.getlayer(IP) or p.getlayer(IPv6)
        count, size, flags = found.get(key, (0, 0, 0))
        more = int(p[TCP].flags) if p.haslayer(TCP) else 0
        found[key] = (count + 1, size + len(bytes(ip)), flags | more)
    return found


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def key_of_line(line):
    ports = (line.get("source_port", 0),
             line.get("destination_port", line.get("icmp_type", 0) * 256
                      + line.get("icmp_code", 0)))
    return (line["source"], line["destination"], line["protocol"], *ports,
            line.get("vlan", 0), line.get("inner_vlan", 0))


def told(path):
    found, lines = {}, lines_of(path)
    for line in lines[:3] + lines[-3:]:
        valid("flow", json.dumps(line))
    for line in lines:
        key = key_of_line(line)
        flags = sum(1 << LETTERS[letter] for letter in line.get("tcp_flags", ""))
        assert key not in found
        found[key] = (line["packets"], line["bytes"], flags)
    return found


def capture_of(tmp_path, list_of_packets):
    return save(tmp_path / "in.pcap", [bytes(p) for p in list_of_packets])
