# SPDX-License-Identifier: Apache-2.0
"""--results, and the experiments that read what it prints."""
import os
import re
import subprocess

import pytest

from helpers.command import PERIGEE, ROOT

EXPERIMENTS = sorted((ROOT / "experiments").glob("*.npf"))
LINE = re.compile(r"^([\d.]+-)?RESULT-([A-Z-]+) (\S+)$", re.M)


def results(text):
    """The results in what a program has printed, without series."""
    return {name: float(value) for series, name, value in LINE.findall(text)
            if not series}


def sections(path):
    """The sections of an experiment: {"variables": text, ...}."""
    parts = re.split(r"^%(\w+).*\n", path.read_text(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def test_every_program_prints_what_it_measured():
    done = subprocess.run([PERIGEE, "--results", "echo", "null:size=100", "2", "1"],
                          capture_output=True, text=True, timeout=60, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "EVENT ready"
    found = results(done.stdout)
    assert found["LOST"] == 0
    assert found["PACKETS"] > 0
    assert found["PPS"] == pytest.approx(found["PACKETS"] / found["TIME"], rel=1e-3)
    # 100 bytes, a frame check, preamble and gap
    assert found["THROUGHPUT"] == pytest.approx(124 * 8 * found["PPS"], rel=1e-3)


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_experiments_run_with_their_first_values(path, tmp_path):
    parts, values = sections(path), {}
    for name, value in re.findall(r"^(\w+)=(.*)$", parts["variables"], re.M):
        values[name] = value.strip("{}").split(",")[0]
    values["PERIGEE"] = str(PERIGEE)
    if "SNABB" in values:
        values["SNABB"] = os.environ.get("SNABB")
        if not values["SNABB"]:
            pytest.skip("SNABB names no checkout of Snabb")
    script = re.sub(r"\$(\w+)", lambda found: values.get(found[1], found[0]),
                    parts["script"])
    done = subprocess.run(["sh", "-e", "-c", script], capture_output=True, text=True,
                          timeout=90, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = results(done.stdout)
    for name in re.search(r"results_expect=\{(.*)\}", parts["config"])[1].split(","):
        assert found[name] > 0
