# SPDX-License-Identifier: Apache-2.0
"""A disk that is full, or another error, at the end of one output: all others are whole,
the first error is told, and the status is 1."""

import os

import pytest
from scapy.all import IP, UDP, Ether, Raw, rdpcap, wrpcap

from helpers.command import PERIGEE, check, run

PACKETS = 1000
LIMIT = 16384  # bytes, fewer than the packets take
CPUS = sorted(os.sched_getaffinity(0))

two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="it takes two CPUs")
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="it mounts a small disk")


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    path = tmp_path_factory.mktemp("stop") / "in.pcap"
    wrpcap(str(path), [Ether(dst="02:00:00:00:00:01") / IP(src=f"10.0.{i // 250}.{i % 250 + 1}")
                       / UDP(sport=1000, dport=53) / Raw(bytes(18)) for i in range(PACKETS)])
    return path


@pytest.fixture
def small(tmp_path):
    """A folder on a disk that takes LIMIT bytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    check("mount", "-t", "tmpfs", "-o", f"size={LIMIT}", "tmpfs", folder)
    yield folder
    check("umount", folder)


DEVICES = ("FromDPDKDevice(0) -> t :: Tee -> Queue(2000) -> u :: Unqueue -> ToDPDKDevice(1);"
           "t[1] -> Queue(2000) -> v :: Unqueue -> %s; StaticThreadSched(u 1, v 0)")
TO_FILE, TO_DEVICE = DEVICES % "ToDump(%s)", DEVICES % "ToDPDKDevice(2)"


# What there is of the file that could be written: where the main thread's app raises, the
# program ends with what has been sent up to then.
@pytest.mark.parametrize("text, least", [
    pytest.param(TO_FILE, PACKETS, marks=two_cpus),
    pytest.param(TO_DEVICE, 1, marks=two_cpus),
    pytest.param(TO_DEVICE.replace("u 1, v 0", "u 0, v 1"), PACKETS, marks=two_cpus),
    (DEVICES.split(" -> Queue")[0] + " -> ToDPDKDevice(1); t[1] -> ToDump(%s)", PACKETS),
], ids=["file", "main", "worker", "one"])
def test_click_writes_the_others(text, least, capture, small, tmp_path):
    full, whole = small / "full.pcap", tmp_path / "whole.pcap"
    words = ["--device", f"0=pcap:rx={capture}", "--device", f"1=pcap:tx={whole}"]
    if "%s" in text:
        text = text % full
    else:
        words += ["--device", f"2=pcap:tx={full}"]
    result = run(PERIGEE, "click", *words, "-e", text)
    assert result.returncode == 1, result.stderr
    assert "No space left on device" in result.stderr
    assert len(rdpcap(str(whole))) >= least
