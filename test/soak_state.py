#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test/soak_state.py [FUNCTION [STEPS [SEED]]], as root: a FUNCTION that keeps its state (%s)
is killed, upgraded, taken back, changed while it runs, started again on another number of
CPUs, or replaced by a standby, so many times (100), at random; processes that take part are
killed meanwhile, two at a time, too, and memory is full or can't be written. After each step
one process runs, what it had goes on, all files can be read, and nothing is left of processes
that have ended. The exit status is 1 if not."""

import contextlib
import functools
import os
import pathlib
import random
import sys
import tempfile

import pytest

from helpers import state_functions as functions
from helpers import state_tunnels as tunnels
from helpers.command import check
from helpers.network import libc
from helpers.replica_soak import ReplicaSoak
from helpers.state_soak import Soak

FUNCTIONS = {"nat": functions.Nat, "firewall": functions.Firewall,
             "balancer": functions.Balancer, "nfv": functions.Nfv,
             "vtep": tunnels.Vtep, "lwaftr": tunnels.Lwaftr}
SOAKS = {name: functools.partial(Soak, make=make) for name, make in FUNCTIONS.items()}
SOAKS["replica"] = ReplicaSoak
MORE_DESCRIPTORS = 10  # than at first on as many CPUs: sockets that were passed on come and go
CLONE_NEWNS = 0x20000  # <linux/sched.h>
__doc__ %= ", ".join(SOAKS)


def main(name="nat", steps="100", seed=None):
    seed = int(seed) if seed is not None else random.randrange(2**31)
    print(f"{name}, seed {seed}", flush=True)
    assert libc.unshare(CLONE_NEWNS) == 0
    check("mount", "--make-rprivate", "/")
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory(prefix="soak-state-")))
        soak = SOAKS[name](stack, folder, random.Random(seed))
        now = soak.check()
        first = {now["cpus"]: now["descriptors"]}
        for n in range(int(steps)):
            try:
                now = soak.turn()
            except (Exception, pytest.fail.Exception) as problem:  # told with the seed
                print(f"{name}, seed {seed}, step {n}, {soak.last}: {problem!r}\n{soak.said}")
                return 1
            print(f"{n}: {soak.last}: {now}", flush=True)
            least = first.setdefault(now["cpus"], now["descriptors"])
            if now["descriptors"] > least + MORE_DESCRIPTORS:
                print(f"{now['descriptors']} descriptors, {least} at first")
                return 1
    print("all is as it was")
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 4 or sys.argv[1:2] and sys.argv[1] not in SOAKS \
            or os.geteuid() != 0:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
