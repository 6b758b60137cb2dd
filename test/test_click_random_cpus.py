# SPDX-License-Identifier: Apache-2.0
"""Random configurations of Click's on one CPU and divided on two: the same packets come of
both, each flow's in order. PERIGEE_LONG=1 tries 10,000 others each time,
PERIGEE_RANDOM_CONFIGURATIONS=NUMBER so many; one takes half a second of CPU time. By
PERIGEE_RANDOM_SEED=SEED they are the same again; PERIGEE_RANDOM_FIRST=NUMBER goes on with
that one."""

import os
import random
import re

import pytest

from helpers.command import ROOT, perigee

LONG = os.environ.get("PERIGEE_LONG")
COUNT = int(os.environ.get("PERIGEE_RANDOM_CONFIGURATIONS", 10_000 if LONG else 50))
FIRST = int(os.environ.get("PERIGEE_RANDOM_FIRST", 1))
SEED = os.environ.get("PERIGEE_RANDOM_SEED", None if LONG else "1")
AT_ONCE = 50  # configurations of a process


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="it takes two CPUs")
def test_the_same_comes_of_one_cpu_and_of_two():
    seed, divided = int(SEED or random.randrange(2**31)), 0
    for first in range(FIRST, FIRST + COUNT, AT_ONCE):
        result = perigee("run", ROOT / "test/fuzz_click_cpus.lua",
                         min(AT_ONCE, FIRST + COUNT - first), seed, first, timeout=3600)
        said = f"seed {seed}, from number {first}\n{result.stdout}{result.stderr}"
        assert result.returncode == 0, said
        divided += int(re.search(r"^seed \d+: (\d+) divided", result.stdout, re.M)[1])
    assert divided > COUNT / 2
