# SPDX-License-Identifier: Apache-2.0
"""tools/clickcompare: the same packets, handlers and prints as FastClick's, where the
environment variables FASTCLICK and FASTCLICK_BIN name a checkout of it and its program
click; and with CONFIGURATIONS=DIR, those of that folder."""

import os
import stat

import pytest

from helpers.command import ROOT, run

# A FastClick that copies the capture of device 0, and changes something as told.
COPY = """#!/usr/bin/env python3
import pathlib, struct, sys
place = pathlib.Path(sys.argv[-1]).parent
data = bytearray((place / "in-0.pcap").read_bytes())
frames, at = [], 24
while at < len(data):
    end = at + 16 + struct.unpack_from("<I", data, at + 8)[0]
    frames.append(data[at:end])
    at = end
{change}
(place / "out-0.pcap").write_bytes(data[:24] + b"".join(frames))
"""
BYTE = "frames[0][16 + 20] ^= 1"
ORDER = "frames.reverse()"
COUNT = 'print("c.count:\\n7\\n\\nc.drops:\\n3\\n")'
PRINT = 'print("a:   60 | 00000000", file=sys.stderr)'


def pretend(path, change):
    path.write_text(COPY.format(change=change))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def compare(tmp_path, change):
    (tmp_path / "pass.click").write_text(
        "FromDPDKDevice(0) -> c :: Counter -> ToDPDKDevice(0)\n")
    (tmp_path / "none.click").write_text("Idle -> Discard\n")
    return run(ROOT / "tools/clickcompare", tmp_path, "--verbose",
               "--click", pretend(tmp_path / "click", change))


def test_it_finds_nothing_where_all_is_the_same(tmp_path):
    result = compare(tmp_path, "")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 same, 0 differ, 1 skipped" in result.stdout
    assert "155 packets" in result.stdout


@pytest.mark.parametrize("change, said", [
    (BYTE, ["packets to 0: only Perigee has 1 of ", "packets to 0: only the original has 1"]),
    (ORDER, ["flows are in another order"]),
    (COUNT, ["c.count is '155' on Perigee, '7' on the original", "Perigee has no c.drops"]),
    (PRINT, ["prints: only the original has 1 of a:   60 | 00000000"]),
], ids=["byte", "order", "count", "print"])
def test_it_finds_what_differs(change, said, tmp_path):
    result = compare(tmp_path, change)
    assert result.returncode == 1, result.stdout + result.stderr
    assert all(part in result.stdout for part in said), result.stdout


def test_what_only_the_original_runs_differs(tmp_path):
    (tmp_path / "own.click").write_text("FromDPDKDevice(0) -> Nonesuch -> ToDPDKDevice(0)\n")
    result = run(ROOT / "tools/clickcompare", tmp_path / "own.click",
                 "--click", pretend(tmp_path / "click", ""))
    assert result.returncode == 1
    assert "only the original runs it: own.click:1: undeclared element 'Nonesuch'" \
        in result.stdout.replace(f"{tmp_path}/", ""), result.stdout


def test_packets_are_fastclicks():
    where, click = os.environ.get("FASTCLICK"), os.environ.get("FASTCLICK_BIN")
    if not where or not click:
        pytest.skip("FASTCLICK and FASTCLICK_BIN name no checkout and no click of FastClick")
    result = run(ROOT / "tools/clickcompare", f"{where}/conf", "--click", click, timeout=900)
    assert result.returncode == 0, result.stdout + result.stderr
    same = int(result.stdout.splitlines()[-1].split()[0])
    assert same >= 10, result.stdout


def test_configurations_of_others_do_the_same():
    where, click = os.environ.get("CONFIGURATIONS"), os.environ.get("FASTCLICK_BIN")
    if not where or not click:
        pytest.skip("CONFIGURATIONS and FASTCLICK_BIN name no folder and no click")
    result = run(ROOT / "tools/clickcompare", where, "--click", click, timeout=3000)
    assert result.returncode == 0, result.stdout + result.stderr
