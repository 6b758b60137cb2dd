# SPDX-License-Identifier: Apache-2.0
"""Upstream Snabb's own Python tests of `snabb config` and of lwaftr's subcommands,
those that need no network card, on Perigee: with SNABB=DIR, a Snabb checkout, in the
environment. They look for sockets under /var/run/snabb; they get one of their own."""

import os
import pathlib
import re
import shutil
import sys

import pytest

from helpers.command import PERIGEE, run, tool

SNABB = os.environ.get("SNABB")
TESTS = "program/lwaftr/tests"
NAMESPACE = """umount -a -t hugetlbfs; mount -t tmpfs tmpfs /run && mkdir /run/snabb &&
exec "$@" """
# Tests in each file (subcommands/NAME_test.py); the other files need cards.
FILES = {"bench": 1, "check": 2, "config": 20, "generate_binding_table": 1,
         "quickcheck": 1}
SECONDS = 200

pytestmark = pytest.mark.skipif(
    not SNABB, reason="set SNABB to a Snabb checkout to run its tests of snabb config")


@pytest.fixture
def place(tmp_path):
    """A tree of upstream's tests, with a `snabb` that is Perigee."""
    upstream = pathlib.Path(SNABB, "src").resolve()
    shutil.copytree(upstream / TESTS, tmp_path / TESTS)
    command = tmp_path / "snabb"
    command.write_text("#!/bin/sh\n" f"exec '{PERIGEE}' --eal --no-huge "
                       f"--snabb '{upstream}' \"$@\"\n")
    command.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_passes_upstreams_tests(name, place):
    tests = place / TESTS
    result = run(tool("unshare"), "-m", "sh", "-c", NAMESPACE, "sh",
                 sys.executable, "-m", "unittest", "discover",
                 "-s", tests / "subcommands",
                 "-t", tests, "-p", f"{name}_test.py", cwd=place, timeout=SECONDS,
                 env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tests),
                      "TESTS_DIR": str(tests)})
    ran = re.search(r"^Ran (\d+) tests? in .*\n\n(.*)", result.stderr, re.MULTILINE)
    assert ran and ran.groups() == (str(FILES[name]), "OK"), result.stderr
