# SPDX-License-Identifier: Apache-2.0
"""What can't run leaves the files that it was to write as they are."""

import pytest

from helpers.command import perigee

pytestmark = pytest.mark.fast

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
