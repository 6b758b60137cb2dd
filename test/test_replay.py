# SPDX-License-Identifier: Apache-2.0
"""replay, run as a user runs it."""

import gzip
import os
import pty
import re
import signal
import struct
import subprocess

import pytest

from helpers.capture import load, random_frames, save, zstd
from helpers.command import PERIGEE, perigee, running
from helpers.report import number


def test_replay_of_standard_input(tmp_path):
    packets = random_frames(50)
    file = save(tmp_path / "in.pcap", packets)
    with open(file, "rb") as pipe:
        result = perigee("replay", "-", f"pcap:tx={tmp_path}/out.pcap", "--topspeed",
                         stdin=pipe)
    assert result.returncode == 0, result.stderr
    assert list(load(tmp_path / "out.pcap")) == packets
    result = perigee("replay", "-", "null", "--topspeed", "--loop", "2",
                     input=file.read_bytes().decode("latin-1"), encoding="latin-1")
    assert result.returncode == 1
    assert result.stderr.startswith("perigee: can't read /dev/stdin again from its start")


@pytest.mark.parametrize("options, expected", [
    (["--topspeed"], 1),
    (["--topspeed", "--loop", "7"], 7),
    (["--rate", "1Mpps"], 1),
    (["--rate", "10Gbps", "--loop", "3"], 3),
    (["--speed", "10"], 1),
    (["--speed", "10", "--busy-wait", "--loop", "2"], 2),
    ([], 1),
])
def test_replay_sends_every_packet_in_order(tmp_path, options, expected):
    packets = random_frames(500)
    file = save(tmp_path / "in.pcap", packets, gap_us=100)
    out = tmp_path / "out.pcap"
    result = perigee("replay", *options, file, f"pcap:tx={out}")
    assert result.returncode == 0, result.stderr
    assert list(load(out)) == packets * expected
    total = expected * len(packets)
    assert number(r"replay: ([\d,]+) packets", result.stdout) == total
    assert number(r"packets, ([\d,]+) bytes", result.stdout) == \
        expected * sum(map(len, packets))
    assert "dropped: 0\n" in result.stdout


@pytest.mark.parametrize("compress", [gzip.compress, zstd], ids=["gzip", "zstd"])
@pytest.mark.parametrize("loop", [["--loop", 1], ["--loop", 3], ["--loop", 3, "--rate", "1Mpps"]])
def test_replay_of_compressed_files(tmp_path, compress, loop):
    packets = random_frames(2000)
    a, b = save(tmp_path / "a.pcap", packets), tmp_path / "b.pcap"
    a.write_bytes(compress(a.read_bytes()))
    speed = [] if "--rate" in loop else ["--topspeed"]
    result = perigee("replay", a, f"pcap:tx={b}", *loop, *speed)
    assert result.returncode == 0, result.stderr
    assert list(load(b)) == packets * loop[1]
    a.write_bytes(a.read_bytes()[:-30])
    result = perigee("replay", a, f"pcap:tx={b}", "--topspeed")
    assert result.returncode == 1, result.stdout
    assert re.search(rf"{a}\b.*(end|cut|packet)", result.stderr), result.stderr
    sent = list(load(b))
    assert sent == packets[:len(sent)]


def test_replay_stops_at_its_limit(tmp_path):
    packets = random_frames(10)
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.pcap"
    result = perigee("replay", "--loop", "0", "--limit", "25", file, f"pcap:tx={out}")
    assert result.returncode == 0, result.stderr
    assert list(load(out)) == packets * 2 + packets[:5]


def rates(text):
    """The requested and the achieved packet rate of a report, in packets a second."""
    factor = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
    found = re.findall(r"([\d.]+) ([kMG]?)pps", text)
    return [float(value) * factor[prefix] for value, prefix in found]


@pytest.mark.parametrize("options", [["--rate", "20kpps"], ["--speed", "2"]])
def test_replay_is_not_faster_than_asked(tmp_path, options):
    file = save(tmp_path / "in.pcap", random_frames(10000), gap_us=100,
                began=1700000000)  # a time of 0 is none
    result = perigee("replay", *options, file, "null")
    requested, achieved = rates(result.stdout)
    assert requested == 20000
    assert 0.3 * requested < achieved <= 1.01 * requested


def test_replay_sends_all_before_a_cut(tmp_path):
    packets = random_frames(200)
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.pcap"
    os.truncate(file, file.stat().st_size - 1)
    result = perigee("replay", "--topspeed", "--loop", "5", file, f"pcap:tx={out}")
    assert result.returncode == 1
    assert list(load(out)) == packets[:-1]
    assert "replay: 199 packets" in result.stdout
    said = [line for line in result.stderr.splitlines() if "warning:" not in line]
    assert len(said) == 1, result.stderr
    assert f"{file} ends in the middle of packet 200" in said[0]


@pytest.mark.parametrize("content, sentence", [
    (None, "No such file or directory"),
    (b"", "is empty"),
    (b"not a savefile", "neither a pcap nor a pcapng file"),
    (struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 113), "link type 113"),
])
def test_replay_refuses_other_files(tmp_path, content, sentence):
    file = tmp_path / "in.pcap"
    if content is not None:
        file.write_bytes(content)
    result = perigee("replay", file, "null")
    assert result.returncode == 1
    assert re.fullmatch(rf"perigee: .*{sentence}.*\n", result.stderr)


@pytest.mark.parametrize("arguments, sentence", [
    (["--rate", "fast", "f", "null"], "'fast' isn't a rate such as 500kpps, 1.5Mpps"),
    (["--speed", "0", "f", "null"], "a number above 0"),
    (["--speed", "1", "--topspeed", "f", "null"], "--topspeed"),
    (["f"], "port"),
])
def test_replay_refuses_bad_arguments(arguments, sentence):
    result = perigee("replay", *arguments)
    assert result.returncode == 2
    assert re.fullmatch(rf"perigee: .*{re.escape(sentence)}.*\n", result.stderr)


def test_replay_counts_what_it_drops(tmp_path):
    packets = [bytes(60), bytes(10241), bytes(13), bytes(60)]
    file = save(tmp_path / "in.pcap", packets)
    result = perigee("replay", "--topspeed", file, f"pcap:tx={tmp_path / 'out.pcap'}")
    assert result.returncode == 0
    assert "1 longer than 10240 bytes" in result.stdout


@pytest.mark.parametrize("program", [
    ["replay", "--topspeed", "--loop", "2"],
    ["packetblaster", "replay", "-D", "100"],  # it ends before, with all packets taken
])
def test_files_that_do_not_fit_into_memory_are_sent_all_the_same(tmp_path, program):
    packets = random_frames(20000)
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.pcap"
    result = perigee("--eal", "--no-huge -m 100", *program, file, f"pcap:tx={out}")
    assert re.search("in.pcap needs [0-9]+ MB to be kept in memory", result.stderr)
    if program[0] == "replay":
        assert result.returncode == 0
        assert list(load(out)) == packets * 2
    else:
        assert result.returncode == 1
        assert "the packet pool is empty" in result.stderr


def test_packets_in_memory_leave_some_for_the_port(pair, tmp_path):
    """Those of AF_XDP have a pool of 31 MB."""
    here, _ = pair
    packets = [bytes(1514)] * 8000
    file = save(tmp_path / "in.pcap", packets)
    result = here.run(PERIGEE, "--eal", "--no-huge -m 150", "replay", "--topspeed",
                      "--loop", 2, file, "xdp:left")
    assert result.returncode == 0, result.stderr
    assert "in.pcap isn't kept in memory" in result.stderr
    assert number(r"([\d,]+) packets", result.stdout) == 16000


def test_replay_is_ended_by_a_signal(tmp_path):
    file = save(tmp_path / "in.pcap", random_frames(10))
    with running(PERIGEE, "replay", "--loop", "0", "--rate", "1kpps", file,
                 "null") as process:
        process.wait_for_engine()
        assert process.runs_for(0.3)
        assert process.interrupt(signal.SIGTERM) == 0
    assert number(r"replay: ([\d,]+) packets", process.said) > 0


def test_progress_on_a_terminal_is_one_line(tmp_path):
    file = save(tmp_path / "in.pcap", random_frames(10))
    terminal, side = pty.openpty()
    process = subprocess.Popen([PERIGEE, "replay", "--loop", "0", "--rate", "1kpps",
                                "--duration", "2.5", file, "null"], stdout=side)
    os.close(side)
    output = b""
    try:
        while chunk := os.read(terminal, 4096):
            output += chunk
    except OSError:  # the other side is closed
        pass
    os.close(terminal)
    assert process.wait(timeout=120) == 0
    live = output.split(b"replay: ")
    lines = [part for part in live if b"pps  " in part]
    assert len(lines) >= 2
    assert all(part.endswith(b"\r\x1b[K") and b"\n" not in part for part in lines)
