# SPDX-License-Identifier: Apache-2.0
"""netmap's rings, which other processes may share (pipes, and all cards by one memory):
one writes what it likes into them while Perigee receives and sends (lying_netmap.lua).
The spec beside the code has a lie each; here they change while they are looked at."""

import os
import random
import re

import pytest

from helpers.command import PERIGEE, ROOT, run

BURSTS = 20_000_000 if os.environ.get("PERIGEE_LONG") else 200_000
FIXED_SEED = 37


@pytest.mark.parametrize("seed", [FIXED_SEED, random.randrange(2**31)],
                         ids=["fixed seed", "another seed"])
def test_rings_that_change_while_they_are_looked_at(seed):
    result = run(PERIGEE, "-p", ROOT / "test" / "lua", "run",
                 ROOT / "test" / "lying_netmap.lua", BURSTS, seed)
    assert result.returncode == 0, (seed, result.stdout + result.stderr)
    lies, received, sent, refused = map(int, re.search(
        r"(\d+) lies, (\d+) received, (\d+) sent, (\d+) refused", result.stdout).groups())
    assert lies > 1000 and received and sent and refused, (seed, result.stdout)
