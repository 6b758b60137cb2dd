# SPDX-License-Identifier: Apache-2.0
"""packetblaster, run as a user runs it."""

import struct

from helpers.capture import load, random_frames, save
from helpers.command import perigee


def test_packetblaster_synth_makes_frames(tmp_path):
    out = tmp_path / "out.pcap"
    result = perigee("packetblaster", "synth", "-s", "02:00:00:00:00:01", "-d",
                     "02:00:00:00:00:02", "-S", "60,128", "-D", "0.1", f"pcap:tx={out}")
    assert result.returncode == 0, result.stderr
    packets = list(load(out))
    assert len(packets) > 100
    header = bytes.fromhex("020000000002020000000001")
    assert packets[0] == header + struct.pack(">H", 46) + bytes(46)
    assert packets[1] == header + struct.pack(">H", 114) + bytes(114)
    assert {len(p) for p in packets} == {60, 128}


def test_packetblaster_replays_once_to_each_port(tmp_path):
    packets = random_frames(3000, longest=200)
    file = save(tmp_path / "in.pcap", packets)
    outs = [tmp_path / "one.pcap", tmp_path / "two.pcap"]
    result = perigee("packetblaster", "replay", "--no-loop", file,
                     *(f"pcap:tx={out}" for out in outs))
    assert result.returncode == 0, result.stderr
    assert [list(load(out)) for out in outs] == [packets, packets]


def test_packetblaster_replays_over_and_over(tmp_path):
    packets = random_frames(10)
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.pcap"
    result = perigee("packetblaster", "replay", "-D", "0.1", file, f"pcap:tx={out}")
    assert result.returncode == 0, result.stderr
    sent = list(load(out))
    assert len(sent) > 20
    assert all(p == packets[i % 10] for i, p in enumerate(sent))


def test_packetblaster_refuses_ports_that_arent():
    result = perigee("packetblaster", "synth", "-D", "1", "0f:1f")
    assert result.returncode == 2
    assert "'0f:1f' matches no usable PCI device" in result.stderr


def test_packetblaster_takes_patterns_of_replaced_addresses(tmp_path):
    out = tmp_path / "out.pcap"
    result = perigee("--port", f"0000:01:00.0=pcap:tx={out}", "packetblaster", "synth",
                     "-D", "0.1", "01:00%.0")
    assert result.returncode == 0, result.stderr
    assert len(list(load(out))) > 100
