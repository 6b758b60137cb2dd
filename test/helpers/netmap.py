# SPDX-License-Identifier: Apache-2.0
"""netmap's kernel module for guests (tools/guest/netmap), of the checkout that NETMAP
names."""

import os

import pytest

from helpers import guest_image
from helpers.command import ROOT, run

BUILD_TIMEOUT_S = 900
NO_HEADERS = 77  # exit status
MODULE = guest_image.BUILD / "netmap" / "netmap.ko"


def require():
    """Build the module, or skip the test where it can't be had."""
    source = os.environ.get("NETMAP")
    if not source:
        pytest.skip("netmap's module is built of its source: NETMAP=DIR, a checkout of "
                    "https://github.com/luigirizzo/netmap")
    built = run(ROOT / "tools" / "guest" / "netmap", os.path.abspath(source),
                timeout=BUILD_TIMEOUT_S)
    if built.returncode == NO_HEADERS:
        pytest.skip(built.stderr.splitlines()[-1])
    assert built.returncode == 0, built.stderr


def load(guest):
    """Load it in a guest, with veth interfaces."""
    for path in [*guest_image.modules(["veth"]), MODULE]:
        guest.check("busybox", "insmod", path)
    assert guest.run("test -c /dev/netmap").returncode == 0
