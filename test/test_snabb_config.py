# SPDX-License-Identifier: Apache-2.0
"""Upstream Snabb's own Python tests of `snabb config` and of lwaftr's subcommands,
those that need no network card, on Perigee: with SNABB=DIR, a Snabb checkout, in the
environment. Once with the checkout's lwaftr; once its `config` asks Perigee's own. They
look for sockets under /var/run/snabb; they get one of their own."""

import os
import pathlib
import re
import shutil
import subprocess
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
# Where the test of `config listen` listens; one that was killed leaves it behind.
LISTEN_SOCKET = pathlib.Path("/tmp/snabb-lwaftr-listen-sock-config-test-daemon")
SECONDS = 600
# How long those tests wait for a command and for a socket, which a busy machine exceeds;
# and `bench` for its worker: upstream's fails if that hasn't begun when it is to end.
WAITS = {"subcommands/bench_test.py": ("'--duration', '1'", "'--duration', '10'"),
         "test_env.py": ("COMMAND_TIMEOUT = 10\n", "COMMAND_TIMEOUT = 180\n"),
         "subcommands/config_test.py": ("timeout=5,", "timeout=180,")}
# Perigee's own lwAFTR, and everything else from the checkout. Its queues are no processes,
# so `ps` finds them otherwise: each gets a line as Snabb's workers do.
OWN = """case "$1 $2" in
  "lwaftr quickcheck"|config*) exec $UPSTREAM "$@";;
  ps*) $UPSTREAM ps | while read -r pid rest; do
    echo "$pid $rest"
    $OWN lwaftr query "$pid" --queues 2> /dev/null | awk '{print "\\\\- " NR " worker for '$pid'"}'
  done;;
  *) exec $OWN "$@";;
esac
"""
UPSTREAMS = 'exec $UPSTREAM "$@"\n'

pytestmark = pytest.mark.skipif(
    not SNABB, reason="set SNABB to a Snabb checkout to run its tests of snabb config")


@pytest.fixture(params=[UPSTREAMS, OWN], ids=["snabb", "own"])
def place(request, tmp_path):
    """A tree of upstream's tests, with a `snabb` that is Perigee."""
    upstream = pathlib.Path(SNABB, "src").resolve()
    shutil.copytree(upstream / TESTS, tmp_path / TESTS)
    for name, (short, long) in WAITS.items():
        file = tmp_path / TESTS / name
        text = file.read_text()
        assert short in text
        file.write_text(text.replace(short, long))
    command = tmp_path / "snabb"
    own = f"{PERIGEE} --eal --no-huge"
    command.write_text(f"#!/bin/sh\nOWN='{own}'\nUPSTREAM='{own} --snabb {upstream}'\n"
                       + request.param)
    command.chmod(0o755)
    return tmp_path


def unittest(place, name):
    """What the tests of a file print; None if they don't end in time."""
    tests = place / TESTS
    try:
        result = run(tool("unshare"), "-m", "-p", "-f", "--kill-child", "--mount-proc",
                     "sh", "-c", NAMESPACE, "sh", sys.executable, "-m", "unittest",
                     "discover", "-s", tests / "subcommands", "-t", tests,
                     "-p", f"{name}_test.py", cwd=place, timeout=SECONDS,
                     env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tests),
                          "TESTS_DIR": str(tests)})
    except subprocess.TimeoutExpired:
        return None
    return result.stderr


def ran(said):
    """How many tests ran, and with which result."""
    found = re.search(r"^Ran (\d+) tests? in .*\n\n(.*)", said or "", re.MULTILINE)
    return found and found.groups()


@pytest.mark.parametrize("name", FILES)
def test_passes_upstreams_tests(name, place):
    LISTEN_SOCKET.unlink(missing_ok=True)
    said = unittest(place, name)
    assert ran(said) == (str(FILES[name]), "OK"), said
