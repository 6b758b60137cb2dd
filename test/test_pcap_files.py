# SPDX-License-Identifier: Apache-2.0
"""lib.pcap against two other implementations: Scapy, and tcpdump's libpcap.

Frames have the EtherType 0x88b5 (local experiments, IEEE 802), which Scapy doesn't
look into."""

import pathlib
import random
import subprocess

import pytest
from scapy.layers.l2 import Ether
from scapy.utils import PcapNgWriter, PcapWriter, RawPcapNgReader, RawPcapReader

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEED = random.randrange(2**32)
NS_PER_S = 10**9


def run(script, *args, stdin=None):
    command = [ROOT / "perigee", "run", ROOT / "test" / script, *map(str, args)]
    result = subprocess.run(command, input=stdin, capture_output=True, text=True,
                            timeout=60)
    assert result.returncode == 0, result.stderr
    return result.stdout


def random_frames(n, longest):
    """Frames with a time in ns and an original length, the bounds among them."""
    rng = random.Random(SEED)
    lengths = [14, 15, 16, 17, 60, longest]
    lengths += [rng.randint(14, 300) for _ in range(n - len(lengths))]
    time = 1_700_000_000 * NS_PER_S
    for length in lengths:
        time += rng.choice([0, 1, 999, 1000, rng.randrange(3 * NS_PER_S)])
        data = rng.randbytes(12) + b"\x88\xb5" + rng.randbytes(length - 14)
        yield time, length + rng.choice([0, 0, 100]), data


def dumped(path):
    lines = run("pcap_dump.lua", path).splitlines()
    fields = (line.split(" ") for line in lines)
    return [(int(time), int(original), bytes.fromhex(data))
            for time, original, data in fields]


@pytest.mark.parametrize("endianness", ["<", ">"])
@pytest.mark.parametrize("nano", [False, True])
def test_reads_pcap_of_scapy(tmp_path, endianness, nano):
    frames = list(random_frames(300, 65535))
    path = tmp_path / "scapy.pcap"
    with PcapWriter(str(path), linktype=1, endianness=endianness, nano=nano) as file:
        file.write_header(None)
        for time, original, data in frames:
            fraction = time % NS_PER_S // (1 if nano else 1000)
            file.write_packet(data, sec=time // NS_PER_S, usec=fraction,
                              caplen=len(data), wirelen=original)
    unit = 1 if nano else 1000
    assert dumped(path) == [(t - t % unit, n, data) for t, n, data in frames], SEED


def test_reads_pcapng_of_scapy(tmp_path):
    frames = list(random_frames(300, 65535))
    path = tmp_path / "scapy.pcapng"
    with PcapNgWriter(str(path)) as file:
        for time, _, data in frames:
            packet = Ether(data)
            packet.time = time // 1000 / 10**6
            file.write(packet)
    result = dumped(path)
    assert [data for _, _, data in result] == [data for _, _, data in frames], SEED
    for (time, original, data), (expected, _, _) in zip(result, frames):
        assert original == len(data)
        assert abs(time - expected) <= 2000  # Scapy's times are floats


def frames_of_scapy(path, kind, resolution):
    if kind == "pcap":
        unit = 1 if resolution == "ns" else 1000
        file = RawPcapReader(str(path))
        assert file.linktype == 1
        for data, meta in file:
            yield meta.sec * NS_PER_S + meta.usec * unit, meta.wirelen, data
    else:
        for data, meta in RawPcapNgReader(str(path)):
            assert meta.linktype == 1
            units = (meta.tshigh << 32) + meta.tslow
            yield units * NS_PER_S // meta.tsresol, meta.wirelen, data


def frames_of_tcpdump(path):
    """What tcpdump makes of the file, copied by it to pcap with nanoseconds."""
    copy = path.with_suffix(".copy")
    subprocess.run(["tcpdump", "-r", path, "--nano", "-w", copy], check=True,
                   capture_output=True)
    return frames_of_scapy(copy, "pcap", "ns")


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
@pytest.mark.parametrize("resolution", ["us", "ns"])
@pytest.mark.parametrize("snaplen", [262144, 100])
def test_others_read_what_is_written(tmp_path, kind, resolution, snaplen):
    frames = list(random_frames(300, 10240))
    path = tmp_path / "perigee.file"
    lines = "".join(f"{t // NS_PER_S} {t % NS_PER_S} {n} {data.hex()}\n"
                    for t, n, data in frames)
    run("pcap_write.lua", path, kind, resolution, snaplen, stdin=lines)
    unit = 1 if resolution == "ns" else 1000
    expected = [(t - t % unit, n, data[:snaplen]) for t, n, data in frames]
    assert list(frames_of_scapy(path, kind, resolution)) == expected, SEED
    assert list(frames_of_tcpdump(path)) == expected, SEED
    assert dumped(path) == expected, SEED
