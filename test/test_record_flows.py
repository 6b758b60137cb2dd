# SPDX-License-Identifier: Apache-2.0
"""record --flows: what is told of flows, against flows counted from the same packets
here."""

import collections
import json
import os
import signal

import pytest
from scapy.layers.inet import IP, TCP, UDP, fragment
from scapy.layers.l2 import ARP
from scapy.packet import Raw

from helpers.command import PERIGEE, perigee, run, running, wait_until
from helpers.control import Client, wait_for_socket
from helpers.flow_packets import ETHER, capture_of, flows_of, lines_of, packets, told
from helpers.network import Namespace, Wire, veth
from helpers.report import number
from helpers.sandbox import environment, folder_for_all, is_entered
from helpers.schema import valid

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts or makes interfaces")
COUNT = 1500


def test_each_flow_is_a_line_with_all_its_packets(tmp_path):
    traffic, flows = packets(COUNT), tmp_path / "flows"
    result = perigee("record", "--flows", flows, "--json", "-",
                     f"pcap:rx={capture_of(tmp_path, [*traffic, ETHER / ARP()])}",
                     cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    expected = flows_of(traffic)
    assert len(expected) > 100
    assert told(flows) == expected
    report = valid("record", result.stdout)
    counts = report["record"]["flows"]
    assert (counts["flows"], counts["packets"], counts["not_ip"]) == (len(expected), COUNT, 1)
    assert counts["file"] == {"file": str(flows), "written": len(expected),
                              "not_written": 0}
    assert sum(counts["ended"].values()) == len(expected)
    counters = report["apps"]["recorder"]["counters"]
    assert counters["flows"] == len(expected) and counters["flow_packets_not_ip"] == 1
    assert f"flows: {len(expected):,}, of {COUNT:,} packets" in result.stderr


def test_fragments_count_but_only_the_first_has_ports(tmp_path):
    whole = ETHER / IP(src="10.0.0.1", dst="10.0.0.2", id=7) / UDP(sport=5, dport=6) \
        / Raw(bytes(3000))
    pieces = fragment(whole, fragsize=1000)
    result = perigee("record", "--flows", tmp_path / "flows",
                     f"pcap:rx={capture_of(tmp_path, pieces)}", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    found = {key[3:5]: counts[:2] for key, counts in told(tmp_path / "flows").items()}
    sizes = [len(bytes(p[IP])) for p in pieces]
    assert found == {(5, 6): (1, sizes[0]), (0, 0): (len(pieces) - 1, sum(sizes[1:]))}
    assert f"{len(pieces) - 1} fragments without ports" in result.stdout


@pytest.mark.parametrize("policy", ["evict", "refuse"])
def test_a_full_table_is_told_and_no_packet_is_uncounted(policy, tmp_path):
    traffic, flows = packets(COUNT), tmp_path / "flows"
    result = perigee("record", "--flows", flows, "--flow-limit", "20", "--flow-full",
                     policy, "--json", "-", f"pcap:rx={capture_of(tmp_path, traffic)}",
                     cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    counts = valid("record", result.stdout)["record"]["flows"]
    lines = lines_of(flows)
    assert sum(line["packets"] for line in lines) + counts["refused"] == COUNT
    if policy == "refuse":
        assert counts["refused"] > 500 and len(lines) == 20
        assert "packets of no flow, as the table was full" in result.stderr
    else:
        assert counts["refused"] == 0
        assert collections.Counter(line["end"] for line in lines)["evicted"] \
            == counts["ended"]["evicted"] > 100


@needs_root
def test_a_full_disk_keeps_whole_lines_and_counts_the_others(tmp_path):
    traffic, disk, copy = packets(COUNT), tmp_path / "disk", tmp_path / "copy"
    disk.mkdir()
    result = run("unshare", "-m", "sh", "-c", f"""
        mount -t tmpfs -o size=32k tmpfs {disk} || exit 99
        {PERIGEE} record --flows {disk}/flows pcap:rx={capture_of(tmp_path, traffic)}
        status=$?; cp {disk}/flows {copy}; exit $status""", cwd=tmp_path)
    assert result.returncode == 1
    assert "No space left on device" in result.stderr
    lines, expected = told(copy), flows_of(traffic)
    assert 20 < len(lines) < len(expected)
    assert all(expected[key] == counts for key, counts in lines.items())
    assert len(lines) + number(r"([\d,]+) flows that the file couldn't take",
                               result.stdout) == len(expected)


@pytest.fixture
def wire():
    """A namespace with the port `one`, and a wire to it."""
    inside, outside = Namespace("in"), Namespace("out")
    try:
        veth(inside, "one", outside, "to_one")
        with Wire(outside, "to_one") as one:
            yield inside, one
    finally:
        inside.remove()
        outside.remove()


def statistics(process):
    client = Client(wait_for_socket(process))
    try:
        return valid("record-statistics", json.dumps(client.ask(do="statistics")["answer"]))
    finally:
        client.close()


@needs_root
def test_flows_end_while_it_runs_and_what_is_told_outlives_kill(wire, tmp_path):
    inside, one = wire
    flows = tmp_path / "flows"
    udp = ETHER / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2)
    tcp = ETHER / IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=1, dport=2, flags="R")
    with running(*inside.command(PERIGEE, "record", "--flows", flows, "--flow-idle",
                                 "500ms", "packet:one"), cwd=tmp_path) as process:
        process.wait_for_engine()
        one.send(bytes(udp))
        one.send(bytes(tcp))
        wait_until(lambda: flows.exists() and len(told(flows)) == 2,
                   lambda: f"two flows: {process.said}")
        assert sorted(line["end"] for line in lines_of(flows)) == ["finished", "idle"]
        counts = statistics(process)["flows"]
        assert (counts["flows"], counts["live"]) == (2, 0)
        process.send(signal.SIGKILL)
        process.finish()
    assert len(told(flows)) == 2


def test_flows_are_told_in_the_sandbox():
    with folder_for_all() as folder:
        out = folder / "named"
        flows = out / "flows"
        with running(PERIGEE, "--sandbox", "record", "--flows", flows, "--ipfix",
                     "127.0.0.1:9", "--folder", out, "null:size=60",
                     env=environment(folder)) as process:
            process.wait_for_engine()
            wait_until(lambda: process.read() and is_entered(process),
                       lambda: f"the sandbox: {process.said}")
            assert process.interrupt() == 0
        assert "packets of no flow: not IP" in process.said
        assert "IPFIX to 127.0.0.1:9: 0 flows in" in process.said


@pytest.mark.fast
@pytest.mark.parametrize("words, why", [
    (["--flow-idle", "1s"], "--flow-idle is given without --flows and --ipfix"),
    (["--flow-full", "both", "--flows", "f"], "'both' isn't evict or refuse"),
    (["--flow-limit", "0", "--flows", "f"], "'0' isn't a whole number from 1 to"),
    (["--flow-limit", "100M", "--flows", "f"], "'100M' isn't a whole number from 1 to"),
    (["--flow-active", "0", "--flows", "f"], "`active` is a number of seconds from 0.001"),
    (["--flows", "/none/f"], "'/none/f' can't be written"),
    (["--ipfix", "a:b:c"], "'a:b:c' isn't a collector such as 192.0.2.1:4739"),
    (["--ipfix", "127.0.0.1:0"], "'127.0.0.1:0' isn't a collector"),
    (["--ipfix", "[::1]:99999"], "'[::1]:99999' isn't a collector")])
def test_what_cannot_be_of_flows_is_told(words, why, tmp_path):
    result = perigee("record", *words, "null", cwd=tmp_path)
    assert result.returncode == 2, result
    assert why in result.stderr and result.stderr.count("\n") == 1, result.stderr
