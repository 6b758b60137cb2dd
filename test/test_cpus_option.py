# SPDX-License-Identifier: Apache-2.0
"""--cpus: programs that read a file and end, those that need one CPU, and the report."""

import os
import pathlib
import re
from collections import Counter

import pytest

from helpers.capture import load, save
from helpers.command import PERIGEE, perigee, running, wait_until
from helpers.report import account

OPTIONS = ["--eal", "--no-huge"]  # the few hugepages that there may be are for others


def frames(count):
    """UDP between many addresses; each frame is another."""
    head = bytes(12) + bytes.fromhex("08004500")
    for i in range(count):
        yield (head + bytes(7) + b"\x11" + bytes(2) + bytes([10, 0, i % 251, 1])
               + bytes([10, 1, 0, i % 241]) + bytes(8) + i.to_bytes(4, "big")
               + bytes(i % 100))


COUNT = 2000  # as a ring between CPUs holds: none is lost where one CPU is busy


@pytest.mark.parametrize("length", [0, 3])
def test_echo_ends_with_its_file(tmp_path, length):
    sent = list(frames(COUNT))
    a, b = save(tmp_path / "A.pcap", sent), tmp_path / "B.pcap"
    result = perigee(*OPTIONS, "echo", f"pcap:rx={a},tx={b}", length, "--cpus", "0-1")
    assert result.returncode == 0, result.stderr
    got = list(load(b))
    assert Counter(got) == Counter(sent)
    addresses = {}
    for frame in got:  # those of one flow are in order
        flow, number = frame[26:34], frame[42:46]
        assert addresses.get(flow, b"") < number
        addresses[flow] = number
    assert list(account(result.stdout).values()) == [COUNT, 0, COUNT, 0, 0, 0, 0, 0]


@pytest.mark.fast
def test_a_damaged_file_is_told(tmp_path):
    a = save(tmp_path / "A.pcap", list(frames(1000)))
    a.write_bytes(a.read_bytes()[:-10])
    result = perigee(*OPTIONS, "echo", f"pcap:rx={a}", "--cpus", "0-1")
    assert result.returncode == 1
    assert "ends in the middle of packet 1000, which begins at" in result.stderr
    assert result.stderr.count("perigee: port ") == 1


def test_a_program_that_reads_a_file_is_cut_and_ends(tmp_path):
    a = save(tmp_path / "A.pcap", list(frames(5000)))
    for options, out in ([], "B.pcap"), (["--cpus", "0-1"], "C.pcap"):
        result = perigee(*OPTIONS, "example_spray", a, tmp_path / out, *options)
        assert result.returncode == 0, result.stderr
    assert list(load(tmp_path / "B.pcap")) == list(load(tmp_path / "C.pcap"))


@pytest.mark.fast
@pytest.mark.parametrize("program", [
    "capture", "connect", "doctor", "firehose", "generate", "loadtest", "packetblaster", "record",
    "replay", "snabbmark", "vtep"])
def test_programs_that_need_one_cpu_say_so(program):
    for arguments in [program, "--cpus", "0-1"], ["--cpus=0-1", program]:
        result = perigee(*arguments)
        assert result.returncode == 2
        assert f"{program} runs on one CPU, so it takes no --cpus: " in result.stderr


def cpu_seconds(pid):
    """The CPU time of each worker of a process, by the thread's name."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        ticks = (task / "stat").read_text().rpartition(")")[2].split()[11:13]
        found[(task / "comm").read_text().strip()] = \
            sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return {name: seconds for name, seconds in found.items() if name.startswith("cpu")}


def test_the_report_tells_where_the_cycles_of_each_cpu_went():
    with running(PERIGEE, *OPTIONS, "echo", "null", 3, "--cpus", "0-1") as echo:
        wait_until(lambda: [s > 0.3 for s in cpu_seconds(echo.pid).values()] == [True] * 2,
                   "some work of both CPUs")
        assert echo.interrupt() == 0, echo.said
    for cpu in 0, 1:
        found = re.search(rf"^CPU {cpu}: cycles a packet: receive (\S+) \+ send (\S+) "
                          r"\+ apps (\S+) \+ engine (\S+) \+ empty polls (\S+) = (\S+)",
                          echo.said, re.M)
        *parts, total = [float(n) for n in found.groups()]
        assert abs(sum(parts) - total) < 0.31 and min(parts[:3]) > 0  # each is rounded
        assert re.search(rf"^CPU {cpu}: +\S+ in fwd1_{cpu + 1}\+2$", echo.said, re.M)


STATEFUL = """
local Port = require("apps.port.port").Port
local PcapFilter = require("apps.packet_filter.pcap_filter").PcapFilter
local c = config.new()
config.app(c, "from", Port, "pcap:rx=" .. (...))
config.app(c, "filter", PcapFilter, {filter = "src net 10.0.0.0/17", state_table = "a"})
config.app(c, "to", Port, "pcap:tx=" .. select(2, ...))
config.link(c, "from.output -> filter.input")
config.link(c, "filter.output -> to.input")
engine.configure(c)
engine.main{done = engine.finished}
"""


def test_a_filter_with_state_is_divided_by_flow(tmp_path):
    sent = list(frames(COUNT))
    answers = [f[:26] + f[30:34] + f[26:30] + f[36:38] + f[34:36] + f[38:] for f in sent]
    both = [frame for pair in zip(sent, answers) for frame in pair]
    a = save(tmp_path / "A.pcap", both)
    script = tmp_path / "stateful.lua"
    script.write_text(STATEFUL)
    got = []
    for options in [], ["--cpus", "0-1"]:
        out = tmp_path / f"B{len(got)}.pcap"
        result = perigee(*OPTIONS, *options, "run", script, a, out)
        assert result.returncode == 0, result.stderr
        got.append(list(load(out)))
    assert COUNT / 4 < len(got[0]) < 2 * COUNT  # answers are of connections, too
    assert Counter(got[0]) == Counter(got[1])
    said = perigee(*OPTIONS, "plan", "--no-source", "--cpus", "0-1", "run", script, a,
                   tmp_path / "C.pcap").stdout
    assert said.startswith(
        "placed as copies on each CPU: each gets the packets of its flows, by addresses and "
        "ports\n  by flow: packets of two addresses and ports, both ways, to one copy: filter\n"
        "  any packet to any copy: from, to\n"), said
