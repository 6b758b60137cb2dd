# SPDX-License-Identifier: Apache-2.0
"""FromDPDKDevice's RSS_AGGREGATE: the hash that cards compute."""

import struct
from collections import Counter

import pytest

from helpers.command import perigee
from test_click_devices import save


def toeplitz(data, key=b"\x6d\x5a" * 40):
    """The hash that cards compute (Microsoft, "RSS Hashing Types")."""
    key_bits, result = int.from_bytes(key, "big"), 0
    for i in range(8 * len(data)):
        if data[i // 8] >> 7 - i % 8 & 1:
            result ^= key_bits >> 8 * len(key) - 32 - i & 0xFFFFFFFF
    return result


@pytest.mark.fast
def test_the_rss_hash_as_aggregate(tmp_path):
    """RSS_AGGREGATE: that of addresses and ports; of what has none, of less."""
    one, other = bytes([10, 0, 0, 1]), bytes([192, 168, 7, 200])
    six = bytes([0x20, 1, 0xd, 0xb8]) + bytes(11) + b"\1", bytes(15) + b"\1"

    def ip4(protocol, payload, a=one, b=other, fragment=0):
        return b"\2" * 12 + b"\x08\0" + struct.pack(
            "!BBHHHBBH", 0x45, 0, 20 + len(payload), 1, fragment, 64, protocol, 0
            ) + a + b + payload

    ports, turned = struct.pack("!HH", 1234, 80), struct.pack("!HH", 80, 1234)
    packets = [(ip4(6, ports + bytes(16)), one + other + ports),
               (ip4(6, turned + bytes(16), other, one), other + one + turned),
               (ip4(17, ports + bytes(4)), one + other + ports),
               (ip4(17, ports + bytes(4), fragment=0x2000), one + other),
               (ip4(1, b"\x08\0" + bytes(6)), one + other),
               (b"\2" * 12 + b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, 20, 6, 64)
                + b"".join(six) + ports + bytes(16), b"".join(six) + ports),
               (b"\2" * 12 + b"\x08\x06" + bytes(46), b"")]
    save(tmp_path / "in", [frame for frame, _ in packets])
    result = perigee("click", "--port", "0=pcap:rx=in", "-e", "FromDPDKDevice(0,"
                     " RSS_AGGREGATE true) -> ToIPSummaryDump(out, FIELDS aggregate)"
                     " -> v :: AggregateCounterVector(MASK 511) -> Discard;"
                     "DriverManager(pause, print v.counts)", cwd=tmp_path)
    assert result.stderr == ""
    lines = [line for line in (tmp_path / "out").read_text().splitlines() if line[0] != "!"]
    assert list(map(int, lines)) == [toeplitz(hashed) for _, hashed in packets]
    assert toeplitz(packets[0][1]) == toeplitz(packets[1][1]) != 0
    buckets = Counter(toeplitz(hashed) & 511 for _, hashed in packets)
    assert sorted(buckets.values()) == [1, 1, 2, 3]
    assert result.stdout == "".join(f"{bucket} {n}\n" for bucket, n in sorted(
        buckets.items()))
