# SPDX-License-Identifier: Apache-2.0
"""Elements beside FastClick's: click_elements.json has configurations with what FastClick
93ca5a6 said of them, {name: [configuration, status, lines of stdout, of stderr]}, lines
sorted (its batches change the order). Where FASTCLICK_BIN names its program click, that is
run, too."""

import json
import os
import re
import struct
import subprocess
import sys

import pytest

from helpers.command import PERIGEE, ROOT, perigee

sys.path.insert(0, str(ROOT / "tools/click"))

import captures  # noqa: E402

RECORDED = json.loads((ROOT / "test/click_elements.json").read_text())
# What FastClick says of its batches, buffers and records of flows.
OWN = re.compile("batch mode|compatible with batch|Batching will be|expensive Packet"
                 "|element does not support timeout|^Placing .* at ")
# Lines that tcpdump 3 wrote, and others.
TCPDUMP = """\
9.612442 1.2.3.4.33397 > 5.6.7.8.22: S 1000:1000(0) win 5840 <mss 1460,sackOK,\
timestamp 1 0,nop,wscale 0> (DF) (ttl 64, id 5)
10.1 5.6.7.8.22 > 1.2.3.4.33397: S 5000:5000(0) ack 1001 win 5792 (ttl 60, id 9, len 40)
10.3 1.2.3.4.33397 > 5.6.7.8.22: P 1:101(100) ack 1 win 5840 [tos 0x10] (ttl 64, id 7)
10.35 5.6.7.8.22 > 1.2.3.4.33397: . ack 101 win 5840 <nop,nop,sack sack 1 {1:9} >
11.3 10.0.0.1.53 > 10.0.0.2.1234: udp 100 (DF) (ttl 64, id 7, len 128)

# a comment
11.4 10.0.0.1 > 10.0.0.2: icmp: echo request (ttl 64, id 7, len 84)
garbage
more garbage
11.6 1.2.3.4.http > 10.0.0.2.6: R 7:7(0) win 0
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "t.txt").write_text(TCPDUMP)
    frames = captures.frames(0)[2:14]
    (tmp_path / "e.pcap").write_bytes(
        struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
        + b"".join(struct.pack("<IIII", 1000, i, len(frame), len(frame)) + frame
                   for i, frame in enumerate(frames)))
    return tmp_path


def test_each_module_of_elements_loads_without_the_others():
    folder = ROOT / "click"
    modules = sorted(".".join(path.relative_to(folder).with_suffix("").parts)
                     for path in (folder / "click/elements").rglob("*.lua")
                     if not path.name.endswith("_spec.lua"))
    result = perigee("run", "test/load_alone.lua", *modules, cwd=ROOT)
    assert len(modules) > 100
    assert (result.returncode, result.stdout) == (0, ""), result.stdout + result.stderr


def test_what_runs_several_cpus_is_loaded_where_that_is_asked_for(tmp_path):
    """It takes as long as all else that `perigee click` loads."""
    (tmp_path / "loaded.lua").write_text("""require("program.click.click")
        for name in pairs(package.loaded) do print(name) end""")
    result = perigee("run", tmp_path / "loaded.lua")
    loaded = set(result.stdout.split())
    assert {"program.click.click", "program.click.control"} <= loaded, result.stderr
    assert not loaded & {"program.click.copies", "program.click.threads",
                         "program.click.steering", "apps.click.click", "apps.port.port"}


def said_by(command, config, place):
    result = subprocess.run(
        [*command, "--simtime", "-e", config], cwd=place, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"}, check=False)
    return [result.returncode,
            *(sorted(line for line in text.splitlines()
                     if not OWN.search(line) and "did you mean" not in line)
              for text in (result.stdout, result.stderr))]


@pytest.mark.parametrize("name", RECORDED)
def test_it_does_what_fastclick_does(name, place):
    config, *recorded = RECORDED[name]
    if os.environ.get("FASTCLICK_BIN"):
        assert said_by([os.environ["FASTCLICK_BIN"]], config, place) == recorded
    assert said_by([PERIGEE, "click"], config, place) == recorded


def test_what_devices_and_pools_tell(place):
    result = perigee(
        "click", "--device", f"0=pcap:rx={place}/e.pcap", "-e",
        "f :: FromDPDKDevice(0) -> c :: Counter -> Discard; d :: DPDKInfo",
        "-h", "c.count", "-h", "f.xstats", "-h", "f.queue_count", "-h", "d.pool_count")
    assert result.returncode == 0, result.stderr
    assert "c.count:\n12\n" in result.stdout
    assert re.search(r"^rx_good_packets\[\d+\] = 12$", result.stdout, re.MULTILINE)
    assert re.search(r"^Queue 0: -?\d+$", result.stdout, re.MULTILINE)
    assert re.search(r"^0 [1-9]\d*$", result.stdout, re.MULTILINE)


# More flows than make rewriters and flow managers look ahead: their region is cut then.
FLOWS, ROUNDS = 20000, 4


@pytest.fixture(scope="module")
def many_flows(tmp_path_factory):
    path = tmp_path_factory.mktemp("flows") / "flows.pcap"
    head = bytes(12) + b"\x08\x00" + bytes.fromhex("4500001c00000000401166cf0a0000010a000002")
    frames = [head + struct.pack(">HHHH", 1 + i, 53, 8, 0) + bytes(18) for i in range(FLOWS)]
    path.write_bytes(
        struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
        + b"".join(struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame
                   for _ in range(ROUNDS) for frame in frames))
    return path


@pytest.mark.parametrize("element", [
    "FlowIPManager", "IPRewriter(pattern 9.9.9.9 1024-65535 - - 0 0)"])
def test_no_packet_of_many_flows_is_lost(many_flows, element):
    result = perigee(
        "click", "-e", f"FromDump({many_flows}, STOP true) -> Strip(14) -> CheckIPHeader "
        f"-> e :: {element} -> c :: Counter -> Discard", "-h", "c.count")
    assert (result.returncode, result.stdout.split()) == (0, [str(FLOWS * ROUNDS)]), (
        result.stdout + result.stderr)


def flows_of(rest, element="IPRewriter(pattern 9.9.9.9 1024-65535 - - 0 0)"):
    return perigee(
        "click", "-e", "FastUDPFlows(0, 200000, 60, 1:1:1:1:1:1, 10.0.0.1, 2:2:2:2:2:2, "
        f"10.0.0.2, 40000, 1000) -> in :: Counter -> {rest} -> Strip(14) -> CheckIPHeader "
        f"-> e :: {element} -> c :: Counter -> Discard; "
        "DriverManager(set n 0, label again, wait 0.1, set n $(add $n 1), goto again "
        "$(and $(lt $n 100) $(lt $(add $(c.count) $(e.mapping_failures) $(q.drops)) "
        "200000)))", "-h", "c.count",
        "-h", "e.mapping_failures", "-h", "q.drops")


# What pushes by itself waits, too: generators, and Unqueue with a long queue or without
# a limit.
@pytest.mark.parametrize("rest", [
    "q :: Queue(100) -> Unqueue", "q :: Queue(300000) -> Unqueue(-1)",
    "q :: Queue(300000) -> Unqueue(32)", "q :: Queue(300000) -> RoundRobinUnqueue(0)"])
def test_no_packet_of_a_task_is_lost(rest):
    result = flows_of(rest)
    counts = re.findall(r"^(\d+)$", result.stdout, re.MULTILINE)
    assert result.returncode == 0 and sum(map(int, counts)) == 200000, (
        result.stdout + result.stderr)
