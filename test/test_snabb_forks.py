# SPDX-License-Identifier: Apache-2.0
"""Forks of Snabb, which bring versions of their own of what Perigee has: VITA=DIR is a
checkout of inters/vita, IGALIA=DIR one of Igalia/snabb (2019, with snabb-softwire-v2),
TAKIKAWA=DIR one of takikawa/snabb (2016, when shifts left p.data where it was)."""

import os
import pathlib
import re
import shutil
import sys

import pytest

from helpers.command import PERIGEE, ROOT, perigee, run

sys.path.insert(0, str(ROOT / "tools"))
import lwaftr  # noqa: E402


def source(name):
    """The src folder of the checkout that the variable names; or the test is skipped."""
    if not os.environ.get(name):
        pytest.skip(f"{name}=DIR names no checkout of that fork")
    return pathlib.Path(os.environ[name], "src").resolve()


@pytest.mark.parametrize("test", ["selftest", "selftest6"])
def test_vitas_packets_come_in_order(test):
    """Of packets that meet in one app, by the numbers of its links."""
    vita = source("VITA")
    result = run(PERIGEE, "--snabb", vita, "snsh", f"program/vita/{test}.snabb", cwd=vita)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Mismatch" not in result.stdout


def test_igalias_lwaftr_and_its_schema(tmp_path):
    igalia = source("IGALIA")
    data = lwaftr.copy_data(igalia, tmp_path)
    cases = list(lwaftr.cases(igalia))
    assert len(cases) > 90
    for name, on_a_stick, files in cases[::8]:
        said = lwaftr.run([PERIGEE, "--snabb", igalia], data, on_a_stick, files)
        assert said is None, f"{name}: {said}"


def test_igalias_bench(tmp_path):
    igalia = source("IGALIA")
    tests = igalia / "program/lwaftr/tests"
    for name in "data", "benchdata":
        shutil.copytree(tests / name, tmp_path / name)
    result = perigee("--snabb", igalia, "lwaftr", "bench", "-D", 6, "--bench-file",
                     tmp_path / "out.csv", tmp_path / "data/icmp_on_fail.conf",
                     tmp_path / "benchdata/ipv4-0550.pcap",
                     tmp_path / "benchdata/ipv6-0550.pcap", timeout=90)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "apps.lwaftr" in result.stderr
    header, *rows = (tmp_path / "out.csv").read_text().splitlines()
    assert header.startswith("Time (s),Decap. MPPS")
    assert sum(float(row.split(",")[1]) for row in rows) > 0


def test_takikawas_lwaftr(tmp_path):
    takikawa = source("TAKIKAWA")
    tests = takikawa / "program/lwaftr/tests"
    shutil.copytree(tests / "data", tmp_path / "data")
    script = (tests / "end-to-end/end-to-end.sh").read_text().replace("\\\n", " ")
    cases = re.findall(r"^snabb_run_and_cmp (.*)$", script, re.M)
    assert len(cases) > 50
    out = tmp_path / "4.pcap", tmp_path / "6.pcap"
    for case in cases[::8]:
        words = case.replace("${TEST_BASE}", str(tmp_path / "data"))
        words = words.replace("${EMPTY}", str(tmp_path / "data/empty.pcap")).split()
        result = perigee("--snabb", takikawa, "lwaftr", "check", *words[:3], *out,
                         timeout=90)
        assert result.returncode == 0, result.stdout + result.stderr
        for wanted, got in zip(words[3:5], out):
            same = got.read_bytes() == pathlib.Path(wanted).read_bytes()
            assert same, f"{case}: {got.name}\n{result.stdout}"
