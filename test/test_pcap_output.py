# SPDX-License-Identifier: Apache-2.0
"""Files that the pcap port writes: their times, and what is left of them when the program
is killed or the disk is full."""

import os
import re
import signal
import struct
import subprocess
import time

import pytest
from scapy.utils import RawPcapNgReader

from helpers.capture import NANOSECONDS, load, save
from helpers.command import PERIGEE, perigee, running, wait_until
from helpers.pcap_port import echoed, frames
from helpers.report import port_statistics

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk, as root")

RECORD_HEADER = 16


@pytest.mark.parametrize("name", ["b.pcap", "b.pcapng"])
def test_packets_have_the_time_they_were_sent_at(tmp_path, name):
    packets = frames(1000)
    a, b = save(tmp_path / "a.pcap", packets), tmp_path / name
    before = time.time_ns()
    echoed(f"pcap:rx={a},tx={b}")
    after = time.time_ns()
    if name == "b.pcap":
        assert list(load(b)) == packets
        magic, seconds, fraction = struct.unpack("=I20xII", b.read_bytes()[:32])
        assert magic == NANOSECONDS
        times = [seconds * 10**9 + fraction]
    else:
        read = list(RawPcapNgReader(str(b)))
        assert [data for data, _ in read] == packets
        times = [((meta.tshigh << 32) + meta.tslow) * 10**9 // meta.tsresol
                 for _, meta in read]
    assert times == sorted(times) and before <= times[0] and times[-1] <= after


def test_what_was_sent_survives_a_kill(tmp_path):
    packets = frames(1000)
    pipe, b = tmp_path / "pipe", tmp_path / "b.pcap"
    os.mkfifo(pipe)
    data = save(tmp_path / "a.pcap", packets).read_bytes()
    all_but_one = len(data) - len(packets[-1]) - RECORD_HEADER
    with running(PERIGEE, "echo", f"pcap:rx={pipe},tx={b}") as echo:
        echo.wait_for_engine()
        with open(pipe, "wb", buffering=0) as writer:
            writer.write(data[:all_but_one])
            wait_until(lambda: echo.read() and len(b.read_bytes()) >= all_but_one,
                       "packets in the file")
            assert echo.interrupt(signal.SIGKILL) == -signal.SIGKILL
    assert list(load(b)) == packets[:-1]


FULL_DISK = [
    ("replay", "--topspeed", "a.pcap", "pcap:tx=disk/out"),
    ("replay", "--topspeed", "a.pcap", "pcap:tx=disk/out.pcapng"),
    ("echo", "pcap:rx=a.pcap,tx=disk/out"),
    ("generate", "--duration", "2", "--port", "pcap:tx=disk/out"),
    ("packetblaster", "replay", "-D", "2", "a.pcap", "pcap:tx=disk/out"),
]


@needs_root
@pytest.mark.parametrize("command", FULL_DISK, ids=lambda c: " ".join((c[0], c[-1])))
def test_a_full_disk_is_an_error(tmp_path, command):
    save(tmp_path / "a.pcap", frames(100_000))
    (tmp_path / "disk").mkdir()
    out = re.search(r"disk/out\S*", " ".join(command))[0]
    script = f"""mount -t tmpfs -o size=1m tmpfs disk || exit 99
        {PERIGEE} {' '.join(command)}
        status=$?; cp {out} copy; exit $status"""
    result = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True,
                            text=True, timeout=60, cwd=tmp_path)
    assert result.returncode == 1, result.stderr
    sentence = f"can't write {out} after packet ([0-9]+): No space left on device"
    # Only this, and maybe what there is of memory for packets.
    assert result.stderr.count("can't write") == 1, result.stderr
    found = re.search(sentence, result.stderr)
    assert found, result.stderr
    copy = tmp_path / "copy"
    whole = [data for data, _ in RawPcapNgReader(str(copy))] if "pcapng" in out \
        else list(load(copy))
    assert len(whole) == int(found[1]) > 8000
    for stats in port_statistics(result.stdout).values():
        if "oerrors" in stats and stats["opackets"] > 0:
            assert stats["opackets"] == len(whole) and stats["oerrors"] > 0
    if command[0] == "replay":
        assert f"replay: {len(whole):,} packets, " in result.stdout
        failed = re.search("([0-9,]+) failed in the device", result.stdout)[1]
        # It ends within a tenth of a second, and may not have sent all until then.
        assert 0 < int(failed.replace(",", "")) <= 100_000 - len(whole)


def test_a_limit_on_files_is_an_error_too(tmp_path):
    a, b = save(tmp_path / "a.pcap", frames(100_000)), tmp_path / "b.pcap"
    script = tmp_path / "run.lua"
    script.write_text("""
        local resource = require("posix.sys.resource")
        local c = config.new()
        config.app(c, "port", require("apps.port.port").Port, (...))
        config.link(c, "port.output -> port.input")
        engine.configure(c)
        local limit = {rlim_cur = 2e6, rlim_max = 2e6}
        assert(resource.setrlimit(resource.RLIMIT_FSIZE, limit))
        engine.main{done = engine.finished, no_report = true}""")
    result = perigee("run", script, f"pcap:rx={a},tx={b}")
    assert result.returncode == 1
    assert f"can't write {b} after packet" in result.stderr
    assert "File too large" in result.stderr
    assert len(list(load(b))) > 10_000
