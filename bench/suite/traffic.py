# SPDX-License-Identifier: Apache-2.0
"""Capture files that Perigee and C receive from, over and over (net_pcap)."""
import random
import struct

from suite import measure

# DPDK's device for such a file; a port of Perigee and of C alike.
DEVICE = "net_pcap0,rx_pcap=%s,infinite_rx=1"

IPV4, ARP = 0x0800, 0x0806
ETHERNET, MINIMAL_IPV4 = 14, 20


def checksum(header):
    """The IPv4 header's checksum (RFC 1071)."""
    total = sum(struct.unpack("!%dH" % (len(header) // 2), header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return 0xffff - total


def frame(size, destination, protocol=17, ttl=64, version=4, ethertype=IPV4):
    """An Ethernet frame of `size` bytes with an IPv4 header, and zeros."""
    def header(check):
        return struct.pack("!BBHHHBBHII", version << 4 | 5, 0, size - ETHERNET, 0, 0,
                           ttl, protocol, check, 0x0a000001, destination)
    ip = header(checksum(header(0)))
    ethernet = bytes.fromhex("020000000001020000000002") + struct.pack("!H", ethertype)
    return (ethernet + ip).ljust(size, b"\0")[:size]


def write(name, frames):
    """Write frames to build/bench/NAME.pcap; its path."""
    path = measure.ROOT / "build" / "bench" / (name + ".pcap")
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for data in frames:
            file.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)
    return path


def mixed(packets=2040):
    """IMIX (7 of 60 bytes, 4 of 590, 1 of 1514) in random order: half TCP, 4 in 10
    UDP, the rest ICMP; one in ten is ARP, of another IP version, or too short."""
    dice = random.Random(1)
    sizes = ([60] * 7 + [590] * 4 + [1514]) * (packets // 12)
    dice.shuffle(sizes)
    frames = []
    for size in sizes:
        protocol = dice.choices((6, 17, 1), (50, 40, 10))[0]
        error = dice.choices(("", "arp", "version", "short"), (90, 4, 3, 3))[0]
        frames.append(frame(
            20 if error == "short" else size, dice.getrandbits(32), protocol,
            version=6 if error == "version" else 4,
            ethertype=ARP if error == "arp" else IPV4))
    return frames
