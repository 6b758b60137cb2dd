# SPDX-License-Identifier: Apache-2.0
"""tools/clickcompare: the same packets as FastClick's, where the environment variables
FASTCLICK and FASTCLICK_BIN name a checkout of it and its program click."""

import os
import stat

import pytest

from helpers.command import ROOT, run

# A FastClick that copies the capture of device 0, and changes a byte if told so.
COPY = """#!/usr/bin/env python3
import pathlib, sys
place = pathlib.Path(sys.argv[-1]).parent
data = bytearray((place / "in-0.pcap").read_bytes())
if {change}:
    data[24 + 16 + 20] ^= 1
(place / "out-0.pcap").write_bytes(data)
"""


def pretend(path, change):
    path.write_text(COPY.format(change=change))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_it_finds_what_differs(tmp_path):
    (tmp_path / "pass.click").write_text("FromDPDKDevice(0) -> ToDPDKDevice(0)\n")
    (tmp_path / "none.click").write_text("Idle -> Discard\n")
    compare = ROOT / "tools/clickcompare"
    result = run(compare, tmp_path, "--click", pretend(tmp_path / "click", False))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 same, 0 differ, 1 skipped" in result.stdout
    assert "132 packets" in result.stdout
    result = run(compare, tmp_path, "--click", pretend(tmp_path / "click", True), "--verbose")
    assert result.returncode == 1
    assert "0: only Perigee sends 1 of " in result.stdout
    assert "0: only FastClick sends 1 of " in result.stdout


def test_packets_are_fastclicks():
    where, click = os.environ.get("FASTCLICK"), os.environ.get("FASTCLICK_BIN")
    if not where or not click:
        pytest.skip("FASTCLICK and FASTCLICK_BIN name no checkout and no click of FastClick")
    result = run(ROOT / "tools/clickcompare", f"{where}/conf", "--click", click, timeout=900)
    assert result.returncode == 0, result.stdout + result.stderr
    same = int(result.stdout.splitlines()[-1].split()[0])
    assert same >= 10, result.stdout
