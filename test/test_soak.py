# SPDX-License-Identifier: Apache-2.0
"""A quick share of both soaks; CONTRIBUTING.md has the long form."""

import os
import random
import sys

import pytest

import soak
import soak_state
from helpers.command import ROOT, run

SECONDS, PERIOD_S = 20, 0.25
STEPS, SEED = 4, 1
PATIENCE_S = 600

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces, as root")


def test_it_stays_as_it_was():
    seed = random.randrange(2**31)
    print(f"seed {seed}")
    assert soak.soak(SECONDS, seed, PERIOD_S) == []


@pytest.mark.parametrize("name", soak_state.SOAKS)
def test_state_goes_on(name):
    result = run(sys.executable, ROOT / "test/soak_state.py", name, STEPS, SEED,
                 timeout=PATIENCE_S)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr
    assert result.stdout.count("'descriptors'") == STEPS
