# SPDX-License-Identifier: Apache-2.0
"""--results, and the experiments that read what it prints."""
import os
import re
import subprocess

import pytest

from helpers.command import PERIGEE, ROOT

EXPERIMENTS = sorted((ROOT / "experiments").glob("*.npf"))
LINE = re.compile(r"^([\d.]+-)?RESULT-([A-Z0-9-]+) (\S+)$", re.M)


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


# What programs know better than the engine, or without it.
OWN = [
    ("generate --port ring:a --receive ring:a --count 200",
     "NOT-RECEIVED REORDERED DUPLICATES LATENCY LATENCY-MEDIAN LATENCY-P99 LATENCY-MAX "
     "PPS"),
    ("generate --port ring:a --receive ring:a --both --count 200 --stream "
     "eth,ip4,udp;name=a --stream eth,ip6,udp;name=b", "LATENCY-B LATENCY-B-BACK"),
    ("generate --port null --count 200", "PPS"),
    ("loadtest find-limit -D 10ms --warm-up 0 --wait 0 -b 1e6 -p 1e6 -e true --sizes "
     "60,1514 null", "LIMIT-60 LIMIT-1514 PPS"),
    ("model predict --task 100 --io 50 --ghz 3", "PPS"),
    ("model check --duration 50ms --rounds 1 --limit 1000 echo null", "CYCLES ERROR"),
    ("snabbmark checksum", "SIMD-SIZE-550-BYTES-MPPS-2-M"),
    ("snabbmark esp 100 64 transport encapsulate", "ENCAPSULATION"),
]


@pytest.mark.parametrize("words, names", OWN)
def test_programs_add_what_they_know(words, names):
    done = subprocess.run([PERIGEE, "--results", *words.split()], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = results(done.stdout)
    assert set(names.split()) <= set(found), done.stdout
    assert all(value >= 0 for value in found.values())
    if "predict" in words:
        assert found == {"PPS": 2e7}


def test_nothing_is_added_where_nothing_is_wanted():
    done = subprocess.run([PERIGEE, "model", "predict", "--task", "1", "--io", "1",
                           "--ghz", "1"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "RESULT" not in done.stdout
