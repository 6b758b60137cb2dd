# SPDX-License-Identifier: Apache-2.0
"""What can't run leaves the files that it was to write as they are."""

import gzip
import os
import re

import pytest

from helpers.capture import save
from helpers.command import PERIGEE, perigee, running, wait_until


KEPT = b"what somebody has kept\n"

SCRIPT = """
local Port = require("apps.port.port").Port
local PcapWriter = require("apps.pcap.pcap").PcapWriter
local c = config.new()
config.app(c, "first", Port, "pcap:tx=kept")
config.app(c, "kept", PcapWriter, "new")
config.app(c, "last", {new = function () error("no luck") end})
engine.configure(c)
"""

VTEP = ["--address", "192.0.2.1/24", "--vni", "5"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "kept").write_bytes(KEPT)
    (tmp_path / "text").write_text("This is no capture.\n")
    (tmp_path / "cut").write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000"
                                                 "ffff000001000000") + b"cut")
    (tmp_path / "run.lua").write_text(SCRIPT)
    return tmp_path


@pytest.mark.parametrize("command", [
    "replay none pcap:tx=kept",
    "replay none pcap:tx=new",
    "replay text pcap:tx=kept.pcapng",
    "capture pcap:rx=none kept",
    "capture packet:none0 kept",
    "echo pcap:rx=none,tx=kept",
    "echo pcap:rx=cut,tx=kept,loop=1",
    "generate --port pcap:tx=kept --receive pcap:rx=none",
    "generate --port pcap:tx=kept --receive null --stream size=50 --stream size=100",
    "generate --port packet:none0 --json kept",
    "generate --port pcap:tx=kept --script none.lua",
    "connect both pcap:tx=kept null --clients 10.0.0.1 --servers none",
    "connect client pcap:tx=kept --clients 10.0.0.1 --servers 10.0.0.2 --template none",
    "connect client packet:none0 --clients 10.0.0.1 --servers 10.0.0.2 --json kept",
    "loadtest find-limit none pcap:tx=kept",
    "loadtest find-limit none null --json kept",
    "loadtest transient none null --bench-file kept",
    "loadtest transient none null --json kept",
    "packetblaster replay none pcap:tx=kept",
    "vtep --inner pcap:tx=kept --outer packet:none0 " + " ".join(VTEP),
    "vtep --inner null --outer packet:none0 --json kept " + " ".join(VTEP),
    "vtep --inner null --outer packet:none0 --state kept " + " ".join(VTEP),
    "run run.lua",
])
def test_files_are_kept_and_none_is_made(folder, command):
    (folder / "kept.pcapng").write_bytes(KEPT)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = perigee(*command.split(), cwd=folder)
    assert result.returncode in (1, 2), result.stderr
    assert result.stderr.count("perigee: ") == 1, result.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_first_file_is_kept_when_the_second_cant_be_had(folder):
    result = perigee("vtep", "--inner", "pcap:tx=kept", "--outer", "pcap:tx=none/new",
                     *VTEP, cwd=folder)
    assert result.returncode == 2
    assert "there is no directory 'none/'" in result.stderr
    assert (folder / "kept").read_bytes() == KEPT


# What is read, or written by another process -----------------------------------------

CLICK = "click", "-e"
PLACED = """
local Port = require("apps.port.port").Port
local c = config.new()
config.app(c, "reader", Port, "pcap:rx=a")
config.app(c, "writer", Port, "pcap:tx=hard")
config.link(c, "reader.output -> writer.input")
local cpus = require("core.cpus.affinity").cpus()
config.cpu(c, "reader", cpus[#cpus])
engine.configure(c)
"""


@pytest.fixture
def source(tmp_path):
    """A capture file `a` by all its names, and what is in it."""
    save(tmp_path / "a", [bytes([i]) * 60 for i in range(200)])
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "hard").hardlink_to(tmp_path / "a")
    (tmp_path / "a.gz").write_bytes(gzip.compress((tmp_path / "a").read_bytes()))
    (tmp_path / "lines").write_text("!data ip_src\n1.0.0.1\n")
    (tmp_path / "placed.lua").write_text(PLACED)
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("command", [
    ("replay", "a", "pcap:tx=a"),
    ("replay", "--topspeed", "link", "pcap:tx=hard"),
    ("packetblaster", "replay", "-D", "1", "a", "pcap:tx=./link"),
    ("capture", "pcap:rx=a", "a"),
    ("capture", "--pcapng", "pcap:rx=link", "hard"),
    ("echo", "pcap:rx=a,tx=a"),
    ("echo", "pcap:rx=hard,tx=link"),
    ("generate", "--port", "pcap:tx=hard", "--receive", "pcap:rx=a"),
    ("run", "placed.lua"),
    (*CLICK, "FromDump(a, STOP true) -> ToDump(hard)"),
    (*CLICK, "d :: ToDump(a); FromDump(link, STOP true) -> d"),
    (*CLICK, "d :: ToDump(a.gz); FromDump(a.gz, STOP true) -> d"),
    (*CLICK, "d :: ToIPSummaryDump(lines); FromIPSummaryDump(lines, STOP true) -> d"),
], ids=" ".join)
def test_what_is_read_is_kept(source, command):
    before = contents(source)
    result = perigee(*command, cwd=source)
    assert result.returncode in (1, 2)
    assert re.search("this process reads it; give another name|are the same file",
                     result.stderr), result.stderr
    assert "traceback" not in result.stderr
    assert contents(source) == before


@pytest.mark.parametrize("first, second", [
    ("echo pcap:rx=pipe,tx=out", "echo pcap:rx=a,tx=out"),
    ("capture pcap:rx=pipe out", "replay a pcap:tx=out"),
    ("echo pcap:rx=pipe,tx=out", "capture pcap:rx=a out"),
])
def test_what_another_process_writes_is_kept(source, first, second):
    os.mkfifo(source / "pipe")
    with running(PERIGEE, *first.split(), cwd=source) as writer:
        writer.wait_for_engine()
        with open(source / "pipe", "wb") as pipe:
            pipe.write((source / "a").read_bytes())
            pipe.flush()
            wait_until(lambda: len((source / "out").read_bytes()) > 200 * 60, "packets")
            before = contents(source)
            result = perigee(*second.split(), cwd=source)
            assert result.returncode == 1
            assert result.stderr.endswith("can't write out: another process writes it already; "
                                          "give another name\n"), result.stderr
            assert contents(source) == before
        assert writer.interrupt() == 0, writer.said
    # It may be written again, and what somebody writes may be read.
    assert perigee("replay", "--topspeed", "a", "pcap:tx=out", cwd=source).returncode == 0


def test_what_another_process_reads_is_kept(source):
    before = contents(source)
    with running(PERIGEE, "replay", "--rate", "1pps", "a", "null", cwd=source) as reader:
        reader.wait_for_engine()
        result = perigee("capture", "pcap:rx=a.gz", "link", cwd=source)
        assert result.returncode == 1
        assert result.stderr.endswith("can't write link: another process reads it; "
                                      "give another name\n"), result.stderr
    assert contents(source) == before
