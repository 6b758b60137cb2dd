# SPDX-License-Identifier: Apache-2.0
"""capture of a port, run as a user runs it. (Of a running graph:
test_capture_running.py.)"""

import os
import re
import signal
import struct
import time

import pytest
from scapy.utils import RawPcapReader

from helpers.capture import random_frames, save
from helpers.command import PERIGEE, perigee, run, running, wait_until
from helpers.report import number, numbers

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts or makes interfaces")


def captured(path):
    """The packets of a file of either format."""
    return [data for data, _ in RawPcapReader(str(path))]


@pytest.mark.parametrize("options", [[], ["--ns"], ["--pcapng"], ["--pcapng", "--ns"]])
def test_capture_writes_what_arrives(tmp_path, options):
    packets = random_frames(300, longest=9000)
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.file"
    began = time.time()
    result = perigee("capture", "--limit", "300", *options, f"pcap:rx={file}", out)
    assert result.returncode == 0, result.stderr
    assert captured(out) == packets
    assert "300 packets received, 300 written" in result.stdout
    magic = out.read_bytes()[:4]
    expected = {(): 0xA1B2C3D4, ("--ns",): 0xA1B23C4D}.get(tuple(options), 0x0A0D0D0A)
    assert magic == struct.pack("=I", expected)
    if not options:
        for _, meta in RawPcapReader(str(out)):
            assert began - 1 <= meta.sec <= time.time() + 1


def test_capture_cuts_at_its_limit_and_snap_length(tmp_path):
    packets = random_frames(50)
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.pcap"
    result = perigee("capture", "--limit", "20", "--snaplen", "100",
                     f"pcap:rx={file}", out)
    assert result.returncode == 0, result.stderr
    records = list(RawPcapReader(str(out)))
    assert [data for data, _ in records] == [p[:100] for p in packets[:20]]
    assert [meta.wirelen for _, meta in records] == [len(p) for p in packets[:20]]


def test_capture_leaves_out_what_its_filter_does_not_accept(tmp_path):
    packets = random_frames(400)
    right = [p for p in packets if len(p) >= 700]
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.pcap"
    result = perigee("capture", "--filter", "greater 700", "--limit", len(right),
                     f"pcap:rx={file}", out)
    assert result.returncode == 0, result.stderr
    assert captured(out) == right and 0 < len(right) < 400
    assert f"{len(right)} written" in result.stdout
    assert "that the filter doesn't accept" in result.stdout
    left_out = numbers(r"not written: ([\d,]+) ", result.stdout)
    assert number(r"([\d,]+) packets received", result.stdout) == \
        len(right) + sum(count for count, in left_out)


def test_capture_leaves_a_file_alone_if_its_filter_is_wrong(tmp_path):
    out = tmp_path / "out.pcap"
    out.write_text("what was there")
    result = perigee("capture", "--filter", "no such", "null", out)
    assert result.returncode == 2
    assert "'no such' is no packet filter" in result.stderr
    assert out.read_text() == "what was there"


@pytest.mark.parametrize("number_of", [signal.SIGINT, signal.SIGTERM])
def test_capture_is_ended_by_a_signal(tmp_path, number_of):
    out = tmp_path / "out.pcap"
    file = save(tmp_path / "in.pcap", random_frames(1000))
    with running(PERIGEE, "capture", f"pcap:rx={file}", out) as process:
        wait_until(lambda: out.exists() and out.stat().st_size >= file.stat().st_size,
                   "the packets in the file")
        assert process.interrupt(number_of) == 0
    assert "1,000 packets received, 1,000 written" in process.said
    assert len(captured(out)) == 1000


@needs_root
@pytest.mark.parametrize("options", [[], ["--pcapng"]])
def test_capture_survives_a_full_disk(tmp_path, options):
    disk, copy = tmp_path / "disk", tmp_path / "copy"
    disk.mkdir()
    script = f"""mount -t tmpfs -o size=1m tmpfs {disk} || exit 99
        {PERIGEE} capture {' '.join(options)} null:size=1000 {disk}/out
        status=$?; cp {disk}/out {copy}; exit $status"""
    result = run("unshare", "-m", "sh", "-c", script)
    assert result.returncode == 1
    assert f"can't write {disk}/out: No space left on device" in result.stderr
    assert "traceback" not in result.stderr
    written = number(r"([\d,]+) written", result.stdout)
    assert written == len(captured(copy)) > 900
    received = number(r"([\d,]+) packets received", result.stdout)
    lost = number(r"not written: ([\d,]+) that the file", result.stdout)
    waiting = re.search(r"not written: ([\d,]+) not yet", result.stdout)
    assert received == written + lost + (int(waiting[1]) if waiting else 0)


def test_capture_refuses_a_file_it_cant_write(tmp_path):
    result = perigee("capture", "null", tmp_path / "missing" / "out.pcap")
    assert result.returncode == 1
    assert "No such file or directory" in result.stderr
    result = perigee("capture", "null", "/dev/full")
    assert result.returncode == 1
    assert "can't write /dev/full: No space left on device" in result.stderr


@needs_root
def test_replay_to_capture_over_a_veth_pair(tmp_path):
    packets = random_frames(1000)
    file, out = save(tmp_path / "in.pcap", packets), tmp_path / "out.pcap"
    script = f"""mount -t sysfs sysfs /sys || exit 99
        [ -w /proc/sys/net ] || mount -t proc proc /proc || exit 99
        sysctl -qw net.ipv6.conf.default.disable_ipv6=1
        ip link add left type veth peer name right || exit 99
        ip link set left up; ip link set right up
        {PERIGEE} capture packet:right {out} --limit 1000 --duration 20 & capture=$!
        sleep 1.5
        {PERIGEE} replay {file} packet:left --rate 5kpps
        wait $capture"""
    result = run("unshare", "-nm", "sh", "-c", script)
    assert result.returncode == 0, result.stderr
    assert captured(out) == packets
    assert "replay: 1,000 packets" in result.stdout
