# SPDX-License-Identifier: Apache-2.0
"""Capture files to run configurations on: ARP, IPv4 with UDP, TCP and ICMP, whole and in
fragments, with options, at the end of their time to live, IPv6, VLANs, wrong checksums and
lengths, short frames; also between the addresses, and with the ports and text, that a
configuration names."""

import re
import struct

HOSTS = ["10.0.0.1", "10.0.0.2", "10.0.0.77", "10.0.1.1", "10.1.0.128", "18.26.4.24",
         "18.26.4.115", "18.26.7.1", "192.168.1.1", "192.168.1.9", "192.168.56.128",
         "66.58.65.90", "1.0.0.1", "2.0.0.2", "18.26.4.116", "10.220.0.1", "10.221.0.1"]
BROADCAST = bytes([255] * 6)
FLAGS = {"DF": 0x4000, "MF": 0x2000}


def address(text):
    return bytes(int(part) for part in text.split("."))


def mac(number):
    return bytes([2, 0, 0, 0, 0, number])


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ethernet(kind, payload, to=mac(1), source=mac(9)):
    return (to + source + struct.pack(">H", kind) + payload).ljust(60, b"\0")


def arp(operation, source, target):
    body = struct.pack(">HHBBH", 1, 0x800, 6, 4, operation) + mac(9) + address(source)
    body += (mac(1) if operation == 2 else bytes(6)) + address(target)
    return ethernet(0x806, body, to=BROADCAST if operation == 1 else mac(1))


def ipv4(source, target, protocol, payload, ttl=64, options=b"", flags=0, identity=7):
    length = 20 + len(options)
    header = struct.pack(">BBHHHBBH", 0x40 | length // 4, 0, length + len(payload), identity,
                         flags, ttl, protocol, 0) + address(source) + address(target)
    header += options
    total = checksum(header)
    return header[:10] + struct.pack(">H", total) + header[12:] + payload


def with_sum(source, target, protocol, segment, at):
    pseudo = address(source) + address(target) + struct.pack(">BBH", 0, protocol,
                                                             len(segment))
    total = checksum(pseudo + segment) or 0xffff
    return segment[:at] + struct.pack(">H", total) + segment[at + 2:]


def udp(source, target, sport, dport, data=b"x" * 20):
    segment = struct.pack(">HHHH", sport, dport, 8 + len(data), 0) + data
    return with_sum(source, target, 17, segment, 6)


def tcp(source, target, sport, dport, flags, data=b""):
    segment = struct.pack(">HHIIBBHHH", sport, dport, 1000, 2000 if flags & 16 else 0, 0x50,
                          flags, 8192, 0, 0) + data
    return with_sum(source, target, 6, segment, 16)


def echo(kind, identity):
    message = struct.pack(">BBHHH", kind, 0, 0, identity, 1) + b"ping" * 5
    return message[:2] + struct.pack(">H", checksum(message)) + message[4:]


def ipv6(source, target):
    data = struct.pack(">HHHH", 5, 6, 12, 0) + b"data"
    return struct.pack(">IHBB", 6 << 28, len(data), 17, 64) + source + target + data


def six(source, target, following, payload, hops=64):
    """An IPv6 packet; `source` and `target` are the last byte of an address."""
    ends = (bytes.fromhex("3ffe1ce1000200000000000000000000")[:15] + bytes([end])
            for end in (source, target))
    head = struct.pack(">IHBB", 6 << 28, len(payload), following, hops)
    return head + b"".join(ends) + payload


def pair(i, number):
    """Two different hosts, others for each device."""
    source = HOSTS[(i + 3 * number) % len(HOSTS)]
    return source, HOSTS[(2 * i + number + 1) % len(HOSTS)]


def frames(number):
    """The frames for the device of that number."""
    found = []
    for i, host in enumerate(HOSTS):
        source, target = pair(i, number)
        if source == target:
            target = "3.0.0.3"
        found += [
            arp(1, source, host), arp(2, host, target),
            ethernet(0x800, ipv4(source, target, 17, udp(source, target, 1000 + i, 53))),
            ethernet(0x800, ipv4(source, target, 6, tcp(source, target, 2000 + i, 80, 2))),
            ethernet(0x800, ipv4(source, target, 6,
                                 tcp(source, target, 2000 + i, 80, 24, b"attack" * 9))),
            ethernet(0x800, ipv4(source, target, 1, echo(8, i))),
            ethernet(0x800, ipv4(source, target, 1, echo(0, i))),
        ]
    source, target = pair(1, number)
    big = udp(source, target, 7, 8, b"y" * 1400)
    found += [
        ethernet(0x800, ipv4(source, target, 17, udp(source, target, 7, 8), ttl=1)),
        ethernet(0x800, ipv4(source, target, 17, udp(source, target, 7, 8), ttl=0)),
        ethernet(0x800, ipv4(source, target, 17, udp(source, target, 7, 8),
                             options=bytes([7, 7, 4, 0, 0, 0, 0, 0]))),
        ethernet(0x800, ipv4(source, target, 17, big[:800], flags=FLAGS["MF"])),
        ethernet(0x800, ipv4(source, target, 17, big[800:], flags=100)),
        ethernet(0x800, ipv4(source, target, 17, big, flags=FLAGS["DF"])),
        ethernet(0x800, ipv4(source, target, 89, b"ospf" * 8)),
        ethernet(0x800, ipv4("255.255.255.255", target, 17, udp(source, target, 7, 8))),
        ethernet(0x800, b"\x45" + bytes(30)), ethernet(0x800, b""),
        ethernet(0x86dd, ipv6(bytes.fromhex("3ffe1ce10002000002000000000000 02"),
                              bytes.fromhex("3ffe1ce1000200000000000000000002"))),
        ethernet(0x8100, bytes(46)), ethernet(0x88cc, bytes(46), to=BROADCAST),
    ]
    return found


# What a configuration may name, in its text.
ADDRESS = re.compile(r"(?<![\w.:])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")
STATION = re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{1,2}:){5}[0-9a-fA-F]{1,2}(?![\w:])")
PORT = re.compile(r"\bport\s+(\d{1,5})\b")
VLAN = re.compile(r"\b14/(0[0-9a-fA-F]{3})\b") # Classifier's pattern
HEX = re.compile(r"\b\d{1,3}/((?:[0-9a-fA-F]{2}){3,})(?![\w%])")
MOST_NAMED = 12
WORDS = [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n",
         b"PUT /a HTTP/1.1\r\n\r\ncat /etc/passwd", b"INSERT INTO", b"HTTP/1.1 200 OK\r\n\r\n"]


def named(pattern, text):
    """What the pattern finds, each once, in order."""
    return list(dict.fromkeys(pattern.findall(text)))[:MOST_NAMED]


def distorted(source, target):
    """IPv4 whose header or checksum isn't right, and frames that end early. (Not one whose
    header's checksum is wrong, which FastClick's CheckIPHeader doesn't look at unless told;
    nor ones without a whole Ethernet header, behind which it would read.)"""
    sound = ipv4(source, target, 17, udp(source, target, 9, 10))
    stream = ipv4(source, target, 6, tcp(source, target, 9, 10, 16, b"data"))
    ping = ipv4(source, target, 1, echo(8, 77))
    found = [
        sound[:26] + b"\x12\x34" + sound[28:], stream[:36] + b"\x12\x34" + stream[38:],
        ping[:22] + b"\x12\x34" + ping[24:],
        sound[:26] + b"\0\0" + sound[28:],                  # none
        b"\x55" + sound[1:], b"\x44" + sound[1:], b"\x4f" + sound[1:],
        sound[:2] + b"\x10\x00" + sound[4:], sound[:2] + b"\0\x10" + sound[4:],
        sound[:24] + b"\xff\xff" + sound[26:],
    ]
    frames_of = [ethernet(0x800, packet) for packet in found]
    whole = ethernet(0x800, stream)
    return frames_of + [whole[:length] for length in (14, 20, 33, 34, 41, 53)]


def of_six():
    """IPv6: a ping, TCP, the end of its hops, a fragment, neighbours."""
    return [ethernet(0x86dd, packet) for packet in (
        six(1, 2, 58, b"\x80\0\0\0\0\1\0\1ping"),
        six(2, 1, 6, tcp("0.0.0.0", "0.0.0.0", 1, 80, 2)),
        six(1, 2, 17, udp("0.0.0.0", "0.0.0.0", 1, 53), hops=1),
        six(1, 2, 44, b"\x11\0\0\1\0\0\0\7" + bytes(16)),
        six(1, 2, 58, b"\x87\0\0\0\0\0\0\0" + bytes(16), hops=255),
        six(1, 2, 58, b"\x88\0\0\0\x60\0\0\0" + bytes(16), hops=255))]


def conversation(source, target, port, to):
    """Whole flows both ways to that port, each with its requests and an end."""
    found = []
    for i, data in enumerate([b"", *WORDS]):
        own = 3000 + port % 1000 + i
        for flags, part in ((2, b""), (16, b""), (24, data), (17, b"")):
            found.append(ipv4(source, target, 6, tcp(source, target, own, port, flags, part)))
        found.append(ipv4(target, source, 6, tcp(target, source, port, own, 18)))
    found.append(ipv4(source, target, 17, udp(source, target, 3000, port)))
    found.append(ipv4(target, source, 17, udp(target, source, port, 3000)))
    return [ethernet(0x800, packet, to=to) for packet in found]


def frames_for(number, text):
    """The frames for the device of that number of the configuration `text`."""
    hosts = named(ADDRESS, text)
    hosts = [host for host in hosts if all(int(part) < 256 for part in host.split("."))]
    stations = [bytes(int(part, 16) for part in station.split(":"))
                for station in named(STATION, text)] or [mac(1)]
    ports = [int(port) for port in named(PORT, text) if int(port) < 65536] or [80, 22]
    source, target = pair(2, number)
    found = frames(number) + distorted(source, target) + of_six()
    found.append(ethernet(0x8100, b"\0\5\x08\0" + ipv4(source, target, 17,
                                                       udp(source, target, 1, 2))))
    for i, host in enumerate(hosts):
        to, other = stations[i % len(stations)], hosts[(i + 1 + number) % len(hosts)]
        if other == host:
            other = source
        found += [arp(1, other, host), arp(2, host, other)]
        found += [ethernet(0x800, ipv4(other, host, 1, echo(kind, 50 + i)), to=to)
                  for kind in (8, 0)]
        found += conversation(other, host, ports[i % len(ports)], to)
        last = ipv4(other, host, 17, udp(other, host, 7, 8), ttl=1)
        found.append(ethernet(0x800, last, to=to))
    untagged = list(found)
    for tag in named(VLAN, text):
        found += [frame[:12] + b"\x81\0" + bytes.fromhex(tag) + frame[12:]
                  for frame in untagged if len(frame) > 14]
    for data in named(HEX, text):
        content = bytes.fromhex(data[:len(data) // 2 * 2])
        found.append(ethernet(0x800, ipv4(source, target, 6,
                                          tcp(source, target, 99, 80, 24, content))))
    return found


def write(path, chosen):
    """Write these frames to a capture file."""
    header = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
    body = b"".join(struct.pack("<IIII", 1000 + i // 1000, i % 1000 * 1000, len(frame),
                                len(frame)) + frame for i, frame in enumerate(chosen))
    path.write_bytes(header + body)
