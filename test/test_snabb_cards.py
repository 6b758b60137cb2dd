# SPDX-License-Identifier: Apache-2.0
"""Upstream's own test scripts of its Intel driver, unchanged, with the two ends of a ring
in the place of two cards and a cable: those of pools (VMDq), queues and counters. SNABB
names a checkout of Snabb."""

import os
import pathlib

import pytest

from helpers.command import PERIGEE, run

SNABB = os.environ.get("SNABB")
CARDS = {"SNABB_PCI_INTEL0": "0000:01:00.0", "SNABB_PCI_INTEL1": "0000:02:00.0"}
SCRIPTS = ("4q_vmdq", "vmdq_mcast", "vmdq_mirror", "shared_rxcounter", "txq_stop")
TIMEOUT_S = 120

pytestmark = pytest.mark.skipif(
    not SNABB, reason="Snabb's scripts are in a checkout: SNABB=DIR, one of "
    "https://github.com/snabbco/snabb")


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_of_upstream_s_driver_passes(name):
    folder = pathlib.Path(SNABB).resolve() / "src" / "apps" / "intel_mp"
    places = [word for card in CARDS.values() for word in ("--port", f"{card}=ring:cable")]
    result = run(PERIGEE, *places, "snsh", f"test_10g_{name}.snabb", cwd=folder,
                 env={**os.environ, **CARDS}, timeout=TIMEOUT_S)
    assert result.returncode == 0, result.stdout + result.stderr
