# SPDX-License-Identifier: Apache-2.0
"""Apps of a Snabb checkout, fused as they are (with SNABB=DIR): random packets come out
as they do between links."""

import os
import pathlib

import pytest

from helpers.command import perigee

SNABB = os.environ.get("SNABB")
SCRIPT = pathlib.Path(__file__).with_name("snabb_lifted.lua")
MODULES = ["apps.basic.basic_apps", "apps.vlan.vlan", "apps.packet_filter.pcap_filter",
           "apps.rate_limiter.rate_limiter"]


@pytest.mark.skipif(not SNABB, reason="SNABB=DIR gives no checkout of Snabb")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_apps_of_a_checkout(seed):
    options = [word for module in MODULES for word in ("--prefer-tree", module)]
    result = perigee("--snabb", pathlib.Path(SNABB) / "src", *options, "snsh", SCRIPT, seed)
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 5
