# SPDX-License-Identifier: Apache-2.0
"""Random configurations of Click's on one CPU and divided on two: the same packets come of
both, each flow's in order. PERIGEE_LONG=1 tries 10,000 others each time."""

import os
import random
import re

import pytest

from helpers.command import ROOT, perigee

LONG = os.environ.get("PERIGEE_LONG")
COUNT = 10_000 if LONG else 50
AT_ONCE = 50  # configurations of a process


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="it takes two CPUs")
def test_the_same_comes_of_one_cpu_and_of_two():
    seed, divided = random.randrange(2**31) if LONG else 1, 0
    for first in range(1, COUNT + 1, AT_ONCE):
        result = perigee("run", ROOT / "test/fuzz_click_cpus.lua", AT_ONCE, seed, first,
                         timeout=3600)
        said = f"seed {seed}, from number {first}\n{result.stdout}{result.stderr}"
        assert result.returncode == 0, said
        divided += int(re.search(r"^seed \d+: (\d+) divided", result.stdout, re.M)[1])
    assert divided > COUNT / 2
