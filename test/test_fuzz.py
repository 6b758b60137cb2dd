# SPDX-License-Identifier: Apache-2.0
"""A quick share of the fuzzing of command lines; CONTRIBUTING.md has the long form."""

import random

import fuzz_commands

FIXED_SEED, LINES, SECONDS = 20, 40, 15


def run(seed, **limits):
    print(f"seed {seed}")
    done, faults = fuzz_commands.fuzz(seed, **limits)
    assert done > 10 and not faults


def test_command_lines_of_a_fixed_seed():
    run(FIXED_SEED, count=LINES)


def test_command_lines_of_another_seed():
    run(random.randrange(2**31), seconds=SECONDS)
