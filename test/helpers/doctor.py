# SPDX-License-Identifier: Apache-2.0
"""What `perigee doctor` must say of a packet path."""

from helpers.command import run

CLEAN = "\nThe packet path is clean.\n"


def assert_clean(result, runs=3, **kwargs):
    """The doctor found nothing, in this run or in one of two more (run with kwargs).

    LuaJIT's choices depend on time and on dice; now and then, on a busy machine, one
    turns out badly. What it can't compile it can't in any run.
    """
    for _ in range(runs - 1):
        if CLEAN not in result.stdout:
            result = run(*result.args, **kwargs)
    assert CLEAN in result.stdout, result.stdout + result.stderr
    assert result.returncode == 0
