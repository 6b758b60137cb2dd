# SPDX-License-Identifier: Apache-2.0
"""echo from one capture file to another through a chain of apps."""

import itertools
import random

import pytest

from helpers.capture import load, save
from helpers.command import perigee
from helpers.report import account, port_statistics


def mixed_packets(count, shortest, longest):
    """Packets of random lengths and bytes; the bounds are among the lengths."""
    rng = random.Random(count)
    blob = rng.randbytes(1 << 20)
    for i in range(count):
        length = (shortest, longest)[i] if i < 2 else rng.randint(shortest, longest)
        start = rng.randrange(len(blob) - length)
        yield blob[start:start + length]


def test_every_packet_comes_back_in_order(scratch):
    packets = list(mixed_packets(100_000, 60, 9000))
    a, b = save(scratch / "A.pcap", packets), scratch / "B.pcap"
    result = perigee("echo", f"pcap:rx={a},tx={b}", 10)
    assert result.returncode == 0, result.stderr
    for i, (sent, expected) in enumerate(itertools.zip_longest(load(b), packets)):
        assert sent == expected, f"packet {i} differs"
    assert account(result.stdout) == {
        "received": 100_000, "allocated": 0, "sent": 100_000, "freed": 0,
        "dropped by ports": 0, "in links": 0, "between CPUs": 0, "held by apps": 0}
    stats = port_statistics(result.stdout)[f"pcap:rx={a},tx={b}"]
    assert stats["ipackets"] == stats["opackets"] == 100_000
    assert stats["ibytes"] == stats["obytes"] == sum(map(len, packets))


@pytest.mark.fast
@pytest.mark.parametrize("length", [0, 1, 100])
def test_chains_of_other_lengths(tmp_path, length):
    packets = list(mixed_packets(3000, 60, 300))
    a, b = save(tmp_path / "A.pcap", packets), tmp_path / "B.pcap"
    result = perigee("echo", f"pcap:rx={a},tx={b}", length)
    assert result.returncode == 0, result.stderr
    assert list(load(b)) == packets
    assert account(result.stdout)["sent"] == 3000


@pytest.mark.fast
@pytest.mark.parametrize("packets", [[], [b"\0" * 14]])
def test_nearly_empty_files(tmp_path, packets):
    a, b = save(tmp_path / "A.pcap", packets), tmp_path / "B.pcap"
    result = perigee("echo", f"pcap:rx={a},tx={b}", 10)
    assert result.returncode == 0, result.stderr
    assert list(load(b)) == packets


@pytest.mark.fast
def test_a_file_without_an_output_file(tmp_path):
    """The port frees what it is given then: sent, to nowhere."""
    a = save(tmp_path / "A.pcap", mixed_packets(100, 60, 300))
    result = perigee("echo", f"pcap:rx={a}", 1)
    assert result.returncode == 0, result.stderr
    assert account(result.stdout)["received"] == 100


def test_the_chain_has_one_app_unless_told_otherwise(tmp_path):
    a, b = save(tmp_path / "A.pcap", [b"\0" * 60]), tmp_path / "B.pcap"
    result = perigee("echo", f"pcap:rx={a},tx={b}")
    assert result.returncode == 0, result.stderr
    assert list(load(b)) == [b"\0" * 60]
    assert "fwd1\n  transmitted 1 packets\nport\n" in result.stdout
