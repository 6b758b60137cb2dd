# SPDX-License-Identifier: Apache-2.0
"""Small capture files, as bytes: pcap and pcapng of either byte order."""

import functools
import struct

from scapy.all import IP, TCP, Ether, raw

UDP = bytes.fromhex(
    "020000000002" "020000000001" "0800"
    "4500001e00010000401166cd0a0000010a000002" "04d2003500120000" "6162636465666768696a")


def pcap(order, magic, packets=(UDP, UDP)):
    return struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, 1) + b"".join(
        struct.pack(order + "IIII", 7, i, len(p), len(p)) + p for i, p in enumerate(packets))


def conversation():
    """Frames of a TCP connection over which something is said."""
    def frame(there, flags, seq, ack, text=b""):
        hosts, ports = ("10.0.0.1", "10.0.0.2"), (1025, 80)
        a, b = (0, 1) if there else (1, 0)
        return raw(Ether() / IP(src=hosts[a], dst=hosts[b]) / TCP(
            sport=ports[a], dport=ports[b], flags=flags, seq=seq, ack=ack) / text)
    return [frame(True, "S", 1, 0), frame(False, "SA", 9, 2), frame(True, "A", 2, 10),
            frame(True, "PA", 2, 10, b"ask"), frame(False, "PA", 10, 5, b"say"),
            frame(True, "FA", 5, 13), frame(False, "FA", 13, 6), frame(True, "A", 6, 14)]


def pcapng_block(order, kind, body):
    total = 12 + len(body)
    return struct.pack(order + "II", kind, total) + body + struct.pack(order + "I", total)


def pcapng(order):
    block = functools.partial(pcapng_block, order)
    interface = struct.pack(order + "HHI", 1, 0, 0) \
        + struct.pack(order + "HHB3xHH", 9, 1, 9, 0, 0)
    packet = struct.pack(order + "IIIII", 0, 1, 2, len(UDP), len(UDP)) + UDP \
        + struct.pack(order + "HH4sHH", 1, 4, b"note", 0, 0)
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)) \
        + block(1, interface) + block(6, packet) + block(3, struct.pack(order + "I", 52) + UDP)


def pcapng_of_all_blocks():
    """All blocks of draft-ietf-opsawg-pcapng-03, and of 2004's; two sections, the second
    big-endian."""
    def option(order, code, data):
        return struct.pack(order + "HH", code, len(data)) + data + bytes(-len(data) % 4)

    def section(order):
        block = functools.partial(pcapng_block, order)
        end = struct.pack(order + "HH", 0, 0)
        data = UDP + bytes(-len(UDP) % 4)
        sizes = struct.pack(order + "II", len(UDP), len(UDP))
        return b"".join([
            block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1) +
                  option(order, 3, b"an OS") + end),
            block(1, struct.pack(order + "HHI", 1, 0, 0) + option(order, 2, b"eth0") +
                  option(order, 9, b"\x09") + option(order, 14, bytes(8)) + end),
            block(1, struct.pack(order + "HHI", 1, 0, 96) + option(order, 9, b"\x86") + end),
            block(4, struct.pack(order + "HH4s", 1, 8, bytes([10, 0, 0, 1])) + b"a.b\0" +
                  end),
            block(6, struct.pack(order + "III", 0, 1, 2) + sizes + data +
                  option(order, 2, struct.pack(order + "I", 1)) + end),
            block(2, struct.pack(order + "HHII", 1, 0, 1, 2) + sizes + data),
            block(3, struct.pack(order + "I", len(UDP)) + data),
            block(5, struct.pack(order + "III", 1, 1, 2) + option(order, 4, bytes(8)) + end),
            block(9, b"__REALTIME_TIMESTAMP=1\n\n"),
            block(10, struct.pack(order + "II", 0x544C534B, 4) + b"key\n"),
            block(0xBAD, struct.pack(order + "I", 32473) + b"abcd"),
            block(0x40000BAD, struct.pack(order + "I", 32473) + b"abcd")])
    return section("<") + section(">")
