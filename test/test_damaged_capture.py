# SPDX-License-Identifier: Apache-2.0
"""A capture file that is cut off: what was read before the cut arrives, then the program
says what is wrong, once."""

import os

import pytest
from scapy.all import IP, UDP, Ether, Raw, rdpcap, wrpcap

from helpers.command import PERIGEE, run

WHOLE = 38
CPUS = sorted(os.sched_getaffinity(0))

two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="it takes two CPUs")

QUEUE = "FromDPDKDevice(0) -> Queue(1000) -> u :: RatedUnqueue(1000) -> ToDPDKDevice(1)"
THREADS = ("FromDPDKDevice(0) -> Queue(1000) -> u :: Unqueue -> ToDPDKDevice(1);"
           "StaticThreadSched(u 1)")
NAT = ("FromDPDKDevice(0) -> CheckIPHeader(14) -> Strip(14) -> CheckIPHeader"
       " -> rw :: IPRewriter(pattern 192.0.2.1 1024-65535 - - 0 0)"
       " -> Unstrip(14) -> ToDPDKDevice(1)")


@pytest.fixture
def cut(tmp_path):
    """A capture of whole packets, and half of one more."""
    path = tmp_path / "cut.pcap"
    wrpcap(str(path), [Ether(dst="02:00:00:00:00:01") / IP(src=f"10.0.0.{i + 1}", dst="10.9.9.9")
                       / UDP(sport=1000 + i, dport=53) / Raw(bytes(20))
                       for i in range(WHOLE + 1)])
    path.write_bytes(path.read_bytes()[:-30])
    return path


def assert_all_arrived(result, written):
    assert result.returncode == 1
    lines = [line for line in result.stderr.splitlines() if "warning:" not in line]
    assert len(lines) == 1 and "cut.pcap" in lines[0], result.stderr
    assert len(rdpcap(str(written))) == WHOLE


@pytest.mark.parametrize("words, text", [
    ((), QUEUE),
    pytest.param(("--cpus", f"{CPUS[0]},{CPUS[-1]}"), NAT, marks=two_cpus),
    pytest.param(("-j", "2"), THREADS, marks=two_cpus),
], ids=["queue", "cpus", "threads"])
def test_click_passes_on_what_was_read(words, text, cut, tmp_path):
    written = tmp_path / "out.pcap"
    result = run(PERIGEE, "click", *words, "--device", f"0=pcap:rx={cut}",
                 "--device", f"1=pcap:tx={written}", "-e", text, timeout=60)
    assert_all_arrived(result, written)


@pytest.mark.parametrize("words", [
    (), pytest.param(("--cpus", f"{CPUS[0]},{CPUS[-1]}"), marks=two_cpus),
], ids=["one", "cpus"])
def test_echo_sends_what_was_read(words, cut, tmp_path):
    written = tmp_path / "out.pcap"
    result = run(PERIGEE, "echo", *words, f"pcap:rx={cut},tx={written}", timeout=60)
    assert_all_arrived(result, written)
