# SPDX-License-Identifier: Apache-2.0
"""The pcap port: files that are looped, damaged, compressed, or pipes. (Those it writes:
test_pcap_output.py; thousands of damaged files: pcap_fuzz_spec.lua.)"""

import gzip
import itertools
import os
import random
import re
import struct
import subprocess
import threading
import time

import pytest

from helpers.capture import ETHERNET, load, save, zstd
from helpers.command import PERIGEE, perigee, running, wait_until
from helpers.pcap_port import echoed, frames
from helpers.report import account, drops

RECORD_HEADER = 16


def looped(file, out, count):
    """The first packets of a file that is sent over and over."""
    result = perigee("capture", "--limit", count, f"pcap:rx={file},loop=1", out)
    assert result.returncode == 0, result.stderr
    received = list(load(out))
    assert len(received) == count
    return received


# Over and over ------------------------------------------------------------------------

@pytest.mark.parametrize("count", [1, 300, 15_000, 120_000])
def test_a_file_of_any_size_is_looped(scratch, count):
    packets = frames(count)
    a, b = save(scratch / "a.pcap", packets), scratch / "b.pcap"
    received = looped(a, b, 2 * count + 1000)
    assert all(map(bytes.__eq__, received, itertools.cycle(packets)))


@pytest.mark.parametrize("bytes_of, sentence", [
    (lambda data: data[:24], r"a\.pcap has no packets to send over and over"),
    (lambda data: data[:-1], r"a\.pcap ends in the middle of packet 10, which begins"),
])
def test_what_cant_be_looped_is_refused(tmp_path, bytes_of, sentence):
    a = save(tmp_path / "a.pcap", frames(10))
    a.write_bytes(bytes_of(a.read_bytes()))
    result = perigee("echo", f"pcap:rx={a},loop=1", 1, 1)
    assert result.returncode == 1
    assert re.fullmatch(rf"perigee: app 'port': port \S+: \S+{sentence}.*\n",
                        result.stderr)


# Damaged files ------------------------------------------------------------------------

def cut(data):
    return data[:-1]


def claims_too_much(data):
    return data + struct.pack("=IIII", 0, 0, 0xFFFFFFFF, 60) + bytes(100)


def no_header(data):
    return data + b"\1" * (RECORD_HEADER - 1)


@pytest.mark.parametrize("damage, count, sentence", [
    (cut, 9, "ends in the middle of packet 10, which begins at offset"),
    (claims_too_much, 10, "packet 11 at offset 8[0-9]+ claims 4294967295 bytes"),
    (no_header, 10, "ends in the middle of packet 11, which begins at offset"),
])
def test_a_damaged_file_is_an_error_after_its_good_packets(tmp_path, damage, count,
                                                           sentence):
    packets = frames(10)
    a, b = save(tmp_path / "a.pcap", packets), tmp_path / "b.pcap"
    a.write_bytes(damage(a.read_bytes()))
    result = perigee("echo", f"pcap:rx={a},tx={b}")
    assert result.returncode == 1
    assert re.fullmatch(f"perigee: port '\\S+': {a}:? {sentence}.*\n", result.stderr)
    assert list(load(b)) == packets[:count]
    assert account(result.stdout)["received"] == count
    assert "ierrors 1 " in result.stdout


def test_a_program_that_doesnt_ask_for_the_end_fails_at_its_own(tmp_path):
    a = save(tmp_path / "a.pcap", frames(10))
    a.write_bytes(a.read_bytes()[:-1])
    script = tmp_path / "run.lua"
    script.write_text("""
        local c = config.new()
        config.app(c, "port", require("apps.port.port").Port, (...))
        config.link(c, "port.output -> port.input")
        engine.configure(c)
        engine.main{duration = 0.1, no_report = true}""")
    result = perigee("run", script, f"pcap:rx={a}")
    assert result.returncode == 1
    assert "a.pcap ends in the middle of packet 10" in result.stderr


def block(kind, body):
    body += bytes(-len(body) % 4)
    length = struct.pack("=I", len(body) + 12)
    return struct.pack("=I", kind) + length + body + length


def test_time_units_of_pcapng_dont_matter(tmp_path):
    """libpcap divides by zero at if_tsresol 2^-64."""
    packets = frames(20)
    resolution = struct.pack("=HHBxxxI", 9, 1, 0x80 | 64, 0)
    data = block(0x0A0D0D0A, struct.pack("=IHHq", 0x1A2B3C4D, 1, 0, -1))
    data += block(1, struct.pack("=HHI", ETHERNET, 0, 0) + resolution)
    for packet in packets:
        data += block(6, struct.pack("=IIIII", 0, 1, 2, len(packet), len(packet)) + packet)
    a, b = tmp_path / "a.pcapng", tmp_path / "b.pcap"
    a.write_bytes(data)
    assert echoed(f"pcap:rx={a},tx={b}")["ipackets"] == 20
    assert list(load(b)) == packets


def test_packets_that_are_too_long_are_counted(tmp_path):
    packets = [bytes(10240), bytes(10241), bytes(60), bytes(65535)]
    a, b = save(tmp_path / "a.pcap", packets), tmp_path / "b.pcap"
    result = perigee("echo", f"pcap:rx={a},tx={b}")
    assert result.returncode == 0, result.stderr
    assert drops(result.stdout) == {"rx_oversize": 2}
    assert [len(packet) for packet in load(b)] == [10240, 60]
    assert account(result.stdout)["dropped by ports"] == 2


# Compressed ----------------------------------------------------------------------------

COMPRESSED = pytest.mark.parametrize("compress", [gzip.compress, zstd],
                                     ids=["gzip", "zstd"])


@COMPRESSED
def test_compressed_files_are_read(tmp_path, compress):
    packets = frames(20_000)
    a, b = save(tmp_path / "a", packets), tmp_path / "b.pcap"
    plain = a.read_bytes()
    # Two pieces, one behind the other, are one file.
    a.write_bytes(compress(plain[:100_000]) + compress(plain[100_000:]))
    assert echoed(f"pcap:rx={a},tx={b}")["ipackets"] == 20_000
    assert list(load(b)) == packets
    assert looped(a, b, 40_000) == 2 * packets


@COMPRESSED
@pytest.mark.parametrize("faulty", [lambda data: data[:-30],
                                    lambda data: data[:-2000] + bytes(2000)],
                         ids=["cut", "overwritten"])
def test_compressed_files_that_are_damaged(tmp_path, compress, faulty):
    packets = [random.Random(1).randbytes(60) for _ in range(20_000)]
    a, b = save(tmp_path / "a", packets), tmp_path / "b.pcap"
    a.write_bytes(faulty(compress(a.read_bytes())))
    result = perigee("echo", f"pcap:rx={a},tx={b}")
    assert result.returncode == 1
    assert re.fullmatch(f"perigee: port '\\S+': {a}:? (can't be read on after packet|ends "
                        "in the middle of packet|packet).*\n", result.stderr)
    good = list(load(b))
    # What is decompressed from bytes that were overwritten may look like packets.
    assert len(good) > 15_000 and good[:15_000] == packets[:15_000]


# Pipes -----------------------------------------------------------------------------------

def test_a_pipe_is_read_as_it_comes(tmp_path):
    packets = frames(1000)
    a, b = save(tmp_path / "a.pcap", packets), tmp_path / "b.pcap"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    data = a.read_bytes()
    with running(PERIGEE, "echo", f"pcap:rx={pipe},tx={b}") as echo:
        echo.wait_for_engine()  # nobody writes yet
        assert echo.runs_for(0.2), echo.said
        with open(pipe, "wb", buffering=0) as writer:
            for start in range(0, len(data), 30_001):
                writer.write(data[start:start + 30_001])
                assert echo.runs_for(0.05), echo.said
            wait_until(lambda: b.stat().st_size == a.stat().st_size and echo.read(),
                       "all packets")
        wait_until(lambda: not echo.read(), "the end")
        assert echo.process.wait(10) == 0, echo.said
    assert list(load(b)) == packets


def test_standard_input_is_read(tmp_path):
    packets = frames(1000)
    data = save(tmp_path / "a.pcap", packets).read_bytes()
    b = tmp_path / "b.pcap"
    command = [PERIGEE, "echo", f"pcap:rx=/dev/stdin,tx={b}"]
    result = subprocess.run(command, input=data, capture_output=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert list(load(b)) == packets


def test_a_pipe_is_written_at_its_readers_pace(tmp_path):
    packets = frames(50_000)
    a, pipe = save(tmp_path / "a.pcap", packets), tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []

    def read():
        with open(pipe, "rb") as reader:
            time.sleep(0.5)
            got.append(reader.read())
    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.2)
    stats = echoed(f"pcap:rx={a},tx={pipe}", 0)
    reader.join()
    assert stats["opackets"] == 50_000
    copy = tmp_path / "copy"
    copy.write_bytes(got[0])
    assert list(load(copy)) == packets


def test_a_pipe_without_a_reader_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    result = perigee("echo", f"pcap:tx={tmp_path / 'pipe'}", 1, 1)
    assert result.returncode == 1
    assert "can't write" in result.stderr and "a pipe that nobody reads" in result.stderr


def test_a_pipe_cant_be_looped(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    result = perigee("echo", f"pcap:rx={tmp_path / 'pipe'},loop=1", 1, 1)
    assert result.returncode == 2
    assert "can't be read again at its end; loop=1 needs a file" in result.stderr
