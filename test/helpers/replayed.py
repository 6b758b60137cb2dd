# SPDX-License-Identifier: Apache-2.0
"""What the tests of `replay` have in common: a client and a server, the frames between
them, and whether checksums are right."""

import subprocess

from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import PcapReader, wrpcap

from helpers.command import perigee

A, B = "02:00:00:00:00:01", "02:00:00:00:00:02"
ETHER = Ether(src=A, dst=B)
CLIENT, SERVER = "10.1.2.3", "10.9.0.80"
CLIENT6, SERVER6 = "2001:db8:1::5", "2001:db8:2::80"


def tcp(sport, dport, flags, load=b""):
    return TCP(sport=sport, dport=dport, flags=flags, seq=1, ack=1) / Raw(load)


def there(l4):
    return ETHER / IP(src=CLIENT, dst=SERVER) / l4


def back(l4):
    return Ether(src=B, dst=A) / IP(src=SERVER, dst=CLIENT) / l4


def there6(l4):
    return ETHER / IPv6(src=CLIENT6, dst=SERVER6) / l4


def save(path, packets, gap=0.001):
    for i, packet in enumerate(packets):
        packet.time = 1_700_000_000 + i * gap
    wrpcap(str(path), packets)
    return path


def load(path):
    with PcapReader(str(path)) as reader:
        return list(reader)


def wrong_checksums(path):
    """Numbers of the packets of which tshark finds a checksum bad, fragments joined."""
    checks = "ip tcp udp sctp".split()
    options = [w for c in checks for w in ("-o", f"{c}.check_checksum:TRUE")]
    options += ["-o", "ip.defragment:TRUE", "-o", "ipv6.defragment:TRUE"]
    bad = " or ".join(f"{c}.checksum.status == 0" for c in checks + ["icmp", "icmpv6"])
    result = subprocess.run(["tshark", "-r", path, *options, "-Y", bad], text=True,
                            capture_output=True, timeout=120, check=False)
    return result.stdout.splitlines()


MAPS = ["--map-ip", "10.1.0.0/16:172.16.0.0/16,10.9.0.0/24:192.0.2.0/24", "--map-ip",
        "[2001:db8:1::/48]:[fd00:1::/48]", "--map-ip", "2001:db8:2::/48:fd00:2::/48"]
PORTS = ["--map-port", "80:8080,53:5353", "--map-port", "5000-5999:6000-6999"]
MACS = ["--map-mac", f"{A}=02:00:00:00:0a:01", "--map-mac", f"{B}:02:00:00:00:0a:02"]


def split(tmp_path, packets, *options):
    """What `replay` sends to two ports, and what it says."""
    file = save(tmp_path / "in.pcap", packets)
    outs = [tmp_path / "c.pcap", tmp_path / "s.pcap"]
    result = perigee("replay", *options, file, *(f"pcap:tx={o}" for o in outs))
    assert result.returncode == 0, result.stderr
    return [[bytes(p) for p in load(o)] for o in outs], result.stdout
