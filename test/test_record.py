# SPDX-License-Identifier: Apache-2.0
"""record: the last packets of ports, written when something triggers it."""

import json
import os
import re
import signal

import pytest
from scapy.utils import RawPcapNgReader

from helpers.capture import packets_of, random_frames, save
from helpers.command import PERIGEE, check, perigee, run, running, wait_until
from helpers.control import Client, wait_for_socket
from helpers.network import Namespace, Wire, veth
from helpers.report import number
from helpers.sandbox import environment, folder_for_all, is_entered
from helpers.schema import valid

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts or makes interfaces")
MATCH = bytes(12) + b"\x88\xb6" + bytes(46)
WHEN = "ether proto 0x88b6"


def frame(i):
    return bytes(12) + b"\x88\xb5" + i.to_bytes(4, "big") + bytes(42)


def recorded(path):
    """The packets of a file."""
    return [data for data, _ in packets_of(path.read_bytes())]


def files_of(folder):
    return sorted(folder.glob("*.pcapng"))


def test_a_packet_that_the_filter_accepts_triggers_a_file(tmp_path):
    packets = random_frames(2000)
    at = 1200
    packets[at] = MATCH
    source, out = save(tmp_path / "in.pcap", packets), tmp_path / "out"
    out.mkdir()
    result = perigee("record", "--when", WHEN, "--folder", out, "--after", "1h",
                     "--json", "-", f"pcap:rx={source}")
    assert result.returncode == 0, result.stderr
    [file] = files_of(out)
    assert recorded(file) == packets
    report = valid("record", result.stdout)["record"]
    assert (report["matches"], report["received"], report["written"]) == (1, 2000, 2000)
    assert report["files"][0] == report["files"][0] | {
        "file": str(file), "by": "filter", "packets": 2000, "overwritten": 0}
    # nanoseconds, in order, and read by others
    times = [(meta.tshigh << 32 | meta.tslow, meta.tsresol)
             for _, meta in RawPcapNgReader(str(file))]
    assert times == sorted(times) and {resolution for _, resolution in times} == {10 ** 9}
    assert "2000" in check("capinfos", "-c", "-M", file)


def test_the_ring_keeps_the_newest(tmp_path):
    packets = random_frames(6000)
    packets[-1] = MATCH
    source, out = save(tmp_path / "in.pcap", packets), tmp_path / "out"
    out.mkdir()
    result = perigee("record", "--memory", "1MiB", "--when", WHEN, "--folder", out,
                     f"pcap:rx={source}")
    assert result.returncode == 0, result.stderr
    [file] = files_of(out)
    got = recorded(file)
    assert got == packets[-len(got):]
    assert 2**20 - 2 * 1600 < sum((len(p) + 3) // 4 * 4 + 32 for p in got) <= 2**20


@pytest.fixture
def wires():
    """A namespace with two ports, `one` and `two`, and wires to them."""
    inside, outside = Namespace("in"), Namespace("out")
    try:
        for name in "one", "two":
            veth(inside, name, outside, f"to_{name}")
        with Wire(outside, "to_one") as one, Wire(outside, "to_two") as two:
            yield inside, one, two
    finally:
        inside.remove()
        outside.remove()


def kept(process):
    client = Client(wait_for_socket(process))
    try:
        return valid("record-statistics", json.dumps(client.ask(do="statistics")["answer"]))
    finally:
        client.close()


def wait_for_packets(process, count):
    wait_until(lambda: kept(process)["packets"] == count,
               lambda: f"{count} packets: {process.said}")


@needs_root
def test_each_way_to_trigger_gives_a_file(wires, tmp_path):
    inside, one, two = wires
    with running(*inside.command(PERIGEE, "record", "--when", WHEN, "--folder", tmp_path,
                                 "packet:one", "packet:two")) as process:
        process.wait_for("record: keeps the last 64 MiB")
        process.wait_for_engine()
        for i in range(10):
            one.send(frame(i))
        wait_for_packets(process, 10)
        process.send(signal.SIGUSR1)
        process.wait_for("-signal.pcapng: 10 packets")
        two.send(frame(10))
        wait_for_packets(process, 11)
        client = Client(wait_for_socket(process))
        path = client.ask(do="record")["answer"]["file"]
        process.wait_for("-command.pcapng: 11 packets")
        assert client.ask(do="record", before="0")["answer"]["file"] != path
        process.wait_for("-command.pcapng: 0 packets")
        assert "duration" in client.ask(do="record", before="x")["error"]
        two.send(MATCH)
        process.wait_for("-filter.pcapng: 12 packets")
        later = client.ask(do="record", after="1h")["answer"]["file"]
        client.close()
        one.send(frame(12))
        wait_for_packets(process, 13)
        assert kept(process)["open"] == 1
        assert not os.path.exists(later)
        assert process.interrupt() == 0
    assert "13 packets received, 46 written to 5 files" in process.said
    files = files_of(tmp_path)
    assert [len(recorded(f)) for f in files] == [10, 11, 0, 12, 13]
    assert recorded(files[1]) == [frame(i) for i in range(11)]
    assert sorted(recorded(files[4])) == sorted([*(frame(i) for i in range(11)), MATCH,
                                                 frame(12)])
    names = check("tshark", "-r", files[3], "-T", "fields", "-e", "frame.interface_name")
    assert names.split() == ["packet:one"] * 10 + ["packet:two"] * 2
    assert not list(tmp_path.glob("*.part"))


def test_much_at_once_is_written_or_counted(tmp_path):
    """A source that is faster than the disk: what was overwritten is counted."""
    with running(PERIGEE, "record", "--memory", "4MiB", "--folder", tmp_path, "--json",
                 tmp_path / "report", "null:size=60") as process:
        process.wait_for_engine()
        client = Client(wait_for_socket(process))
        client.ask(do="record", after="1h")
        wait_until(lambda: list(tmp_path.glob("*.part"))
                   and list(tmp_path.glob("*.part"))[0].stat().st_size > 1 << 22,
                   lambda: f"4 MB: {process.said}")
        client.close()
        assert process.interrupt() == 0
    [file] = files_of(tmp_path)
    got = recorded(file)
    report = valid("record", (tmp_path / "report").read_text())["record"]
    [told] = report["files"]
    assert len(got) == told["packets"] == report["written"]
    assert set(got) == {bytes(60)}
    assert told["packets"] + told["overwritten"] <= report["received"]
    text = file.read_bytes()
    assert f"{told['overwritten']} overwritten before they were written".encode() in text


@needs_root
def test_a_full_disk_is_told_and_what_fits_is_whole(tmp_path):
    packets = random_frames(4000)
    packets[-1] = MATCH
    source, disk, copy = save(tmp_path / "in.pcap", packets), tmp_path / "disk", tmp_path / "c"
    disk.mkdir()
    result = run("unshare", "-m", "sh", "-c", f"""
        mount -t tmpfs -o size=1m tmpfs {disk} || exit 99
        {PERIGEE} record --when '{WHEN}' --folder {disk} pcap:rx={source}
        status=$?; cp {disk}/*.part {copy} && ls {disk}; exit $status""")
    assert result.returncode == 1
    assert "No space left on device" in result.stderr
    assert "traceback" not in result.stderr
    got = recorded(copy)
    assert got == packets[:len(got)] and len(got) > 500
    assert f"{len(got):,} packets," in result.stdout
    lost = number(r"([\d,]+) that the file couldn't take", result.stdout)
    assert lost + len(got) == 4000
    assert not re.search(r"pcapng$", result.stdout, re.M)


def test_killed_it_leaves_nothing_half_under_its_name(tmp_path):
    with running(PERIGEE, "record", "--folder", tmp_path, "null:size=60") as process:
        process.wait_for_engine()
        client = Client(wait_for_socket(process))
        client.ask(do="record", after="1h")
        wait_until(lambda: [p for p in tmp_path.glob("*.part") if p.stat().st_size > 1 << 20],
                   "a file")
        process.send(signal.SIGKILL)
        process.finish()
        client.close()
    assert not files_of(tmp_path)


def test_it_runs_in_the_sandbox():
    with folder_for_all() as folder:
        out = folder / "named"
        with running(PERIGEE, "--sandbox", "record", "--files", "2", "--folder", out,
                     "null:size=60", env=environment(folder)) as process:
            process.wait_for_engine()
            wait_until(lambda: process.read() and is_entered(process),
                       lambda: f"the sandbox: {process.said}")
            for count in 1, 2:
                process.send(signal.SIGUSR1)
                process.wait_for("-signal.pcapng: ", count=count)
            process.send(signal.SIGUSR1)
            process.wait_for("SIGUSR1: no file")
            assert process.interrupt() == 0
        assert len(files_of(out)) == 2 and not list(out.glob("*.part"))
        assert "1 triggers without a file" in process.said


@pytest.mark.fast
@pytest.mark.parametrize("words, why", [
    (["--memory", "10"], "--memory 10 is too little: give 1MiB or more"),
    (["--memory", "900000GiB"], "a ring of 921600000 MiB doesn't fit: "),
    (["--last", "1s"], "--last is given without --rate"),
    (["--rate", "1G"], "--rate is given without --last"),
    (["--last", "1s", "--rate", "1G", "--memory", "1M"], "give one"),
    (["--when", "no such"], "'no such' is no packet filter"),
    (["--when", " "], "--when ' ': an empty expression accepts every packet"),
    (["--folder", "/none"], "--folder '/none': files can't be written there"),
    (["--name", "a/b"], "--name 'a/b' is no beginning of a file name"),
    (["null"], "the port 'null' is given twice")])
def test_what_cannot_be_is_told(words, why, tmp_path):
    result = perigee("record", *words, "null", cwd=tmp_path)
    assert result.returncode == 2, result
    assert why in result.stderr and result.stderr.count("\n") == 1, result.stderr
