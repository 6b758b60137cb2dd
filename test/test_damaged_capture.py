# SPDX-License-Identifier: Apache-2.0
"""A capture file that is cut off: what was read before the cut arrives, then the program
says what is wrong, once."""

import gzip
import os
import subprocess

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


COUNTED = "c :: Counter -> Discard; DriverManager(pause, print c.count)"


@pytest.mark.parametrize("program, status", [("gzip", 1), ("bzip2", 2), ("xz", 1),
                                             ("zstd", 1)])
def test_a_cut_compressed_file_is_told(program, status, cut, tmp_path):
    """By its own name; its last four bytes are missing, and so no packet of some."""
    whole = tmp_path / "whole.pcap"
    whole.write_bytes(cut.read_bytes()[:-48])  # without the half of a packet
    packed = subprocess.run([program, "-c", whole], capture_output=True, check=True).stdout
    path = tmp_path / f"a'b.{program}"
    for content, expected in (packed, 0), (packed[:-4], 1), (packed[:60], 1):
        path.write_bytes(content)
        result = run(PERIGEE, "click", "-e", f'FromDump("{path}", STOP true) -> {COUNTED}')
        assert result.returncode == expected, result.stderr
        if expected:
            whole_packets = f"{path}: the compressed data are cut or damaged: {program} " \
                f"ends with exit status {status}\n"
            assert whole_packets in result.stderr or f"{path} ends in the middle of packet" \
                in result.stderr
            assert "/proc" not in result.stderr
        else:
            assert (result.stdout, result.stderr) == (f"{WHOLE}\n", "")


def test_who_stops_before_the_end_finds_no_damage(cut, tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(cut.read_bytes() + bytes(2 ** 22)))
    result = run(PERIGEE, "click", "-e", f"FromDump({path}, END_AFTER 0, STOP true)"
                 f" -> {COUNTED}")
    assert (result.returncode, result.stderr) == (0, ""), result


@pytest.mark.parametrize("element", ["FromIPSummaryDump", "FromTcpdump"])
def test_a_cut_compressed_dump_is_told(element, tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"!data src dst\n" + b"10.0.0.1 10.0.0.2\n" * 500)[:-4])
    result = run(PERIGEE, "click", "-e", f"{element}({path}, STOP true) -> {COUNTED}")
    assert result.returncode == 1, result
    assert f"{path}: the compressed data are cut or damaged: gzip ends" in result.stderr


@pytest.mark.parametrize("element", ["FromDump", "FromIPSummaryDump", "FromTcpdump"])
def test_what_cannot_be_read_is_not_taken_for_empty(element, tmp_path):
    result = run(PERIGEE, "click", "-e", f"{element}({tmp_path}, STOP true) -> {COUNTED}")
    assert result.returncode == 1, result
    assert f"{tmp_path}" in result.stderr and "Is a directory" in result.stderr
    assert "warning" not in result.stderr
