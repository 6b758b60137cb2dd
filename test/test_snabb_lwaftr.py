# SPDX-License-Identifier: Apache-2.0
"""The end-to-end cases of Snabb's lwaftr, from a checkout of Snabb, on Perigee's apps:
by Snabb's program, and by Perigee's own. Packets and counters must be those that Snabb's
own give. PERIGEE_LONG=1 tries 10 million mutated packets."""

import os
import pathlib
import sys

import pytest

from helpers import capture
from helpers.command import PERIGEE, ROOT, perigee

sys.path.insert(0, str(ROOT / "tools"))
import lwaftr  # noqa: E402

SNABB = os.environ.get("SNABB", "")
pytestmark = pytest.mark.skipif(
    not SNABB, reason="SNABB=DIR names no checkout of Snabb, whose cases these are")


def source():
    path = pathlib.Path(SNABB)
    return path / "src" if (path / "src").is_dir() else path


CASES = list(lwaftr.cases(source())) if SNABB else [("", False, [])]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return lwaftr.copy_data(source(), tmp_path_factory.mktemp("lwaftr"))


@pytest.mark.parametrize("options", [["--snabb", source()], []], ids=["snabb", "own"])
@pytest.mark.parametrize("name, on_a_stick, files", CASES, ids=[
    f"{name}-{'stick' if on_a_stick else 'two'}" for name, on_a_stick, _ in CASES])
def test_case(data, name, on_a_stick, files, options):
    assert lwaftr.run([PERIGEE, *options], data, on_a_stick, files) is None


def test_does_what_upstreams_app_does_with_mutated_packets():
    long = os.environ.get("PERIGEE_LONG")
    result = perigee("--snabb", source(), "run", ROOT / "test/fuzz_lwaftr.lua",
                     10_700_000 if long else 6000, timeout=36000 if long else 600)
    assert result.returncode == 0, result.stdout + result.stderr
    assert " packets compared, 0 differences" in result.stdout


def test_packetblaster_writes_every_packet_of_every_softwire(tmp_path):
    """More than a link has room for at once: Snabb's own loses some from 1,000 on."""
    result = perigee("--snabb", source(), "packetblaster", "lwaftr", "--pcap",
                     tmp_path / "out", "--count", 1034, "--size", "64,64,64,594")
    assert result.returncode == 0, result.stderr
    frames = list(capture.load(tmp_path / "out"))
    for kind, at in (b"\x08\0", 46), (b"\x86\xdd", 86):
        of_kind = [frame for frame in frames if frame[12:14] == kind]
        assert [int.from_bytes(frame[at:at + 4], "little") for frame in of_kind] \
            == list(range(4 * 1034))


@pytest.mark.skipif(not SNABB, reason="without SNABB=DIR")
def test_there_are_cases():
    assert len(CASES) > 90
