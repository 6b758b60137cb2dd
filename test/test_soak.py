# SPDX-License-Identifier: Apache-2.0
"""A quick share of the soak; CONTRIBUTING.md has the long form."""

import os
import random

import pytest

import soak

SECONDS, PERIOD_S = 20, 0.25


@pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces, as root")
def test_it_stays_as_it_was():
    seed = random.randrange(2**31)
    print(f"seed {seed}")
    assert soak.soak(SECONDS, seed, PERIOD_S) == []
