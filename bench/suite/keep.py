# SPDX-License-Identifier: Apache-2.0
"""What keeping state (--keep) costs, beside the same table in plain memory

Two tables of net/flow, one of them in a kept file, take turns in one process: bursts of 64
random flows are found, and are as new again; the figures are nanoseconds of CPU time for a
flow. It is all that a table does for a packet, so there is no limit: a whole packet's share
is less. Shared memory is in small pages as a rule, which many flows feel. Then, by their
number, the CPU time that a process takes until it finds a flow of one that was killed, and
until it has all, without packets (ms); and the time to find one in between, or that there
is none (us).
Last, cycles a packet of a NAT with a million flows (bench/run click), of which each packet
is one's, with and without --keep, in turn.
"""
import os
import random
import tempfile

from suite import click, measure, traffic

SIZES = ((1 << 10, "1 k"), (1 << 16, "64 k"), (1 << 20, "1 M"))


def script(*args):
    return [float(word) for word in measure.command(
        [measure.PERIGEE, "run", measure.ROOT / "bench/lua/keep.lua", *args], 300).split()]


NAT = "nat, 1,000,000 flows"


def nat(quick, rounds):
    """The row of a NAT that is kept beside one that isn't."""
    configuration, packets, _ = click.CASES[NAT]
    device = traffic.DEVICE % traffic.write("keep", packets(random.Random(1)))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.environ["PERIGEE_KEEP_ROOT"] = folder
        text = os.path.join(folder, "nat.click")
        with open(text, "w") as file:
            file.write(configuration())

        def cycles(*options):
            return measure.script_cycles("click", text, 0.4 if quick else 2,
                                         click.WARM_UPS[NAT], vdev=device,
                                         timeout=300, options=options)

        try:
            found = measure.in_turn(rounds, {"kept": lambda: cycles("--keep", "nat"),
                                             "plain": cycles})
        finally:
            del os.environ["PERIGEE_KEEP_ROOT"]
    return measure.paired_row(NAT + ", kept beside not", found["kept"], found["plain"])


def run(quick, rounds=None):
    measure.build()
    measure.pin()
    rounds = rounds or (1 if quick else 5)
    rows = []
    for flows, size in SIZES:
        runs = [script("use", flows, 0.5 if quick else 3) for _ in range(rounds)]
        rows.append(measure.paired_row("kept beside not, %s flows, ns" % size,
                                       [run[0] for run in runs],
                                       [run[1] for run in runs]))
    runs = {size: [script("go-on", flows) for _ in range(rounds)]
            for flows, size in SIZES + ((1 << 22, "4 M"),)}
    for i, what, scale in ((0, "the first of %s flows, ms", 1e3),
                           (1, "all of %s flows, ms", 1e3),
                           (2, "meanwhile, one of %s flows, us", 1e6),
                           (3, "meanwhile, none of %s flows, us", 1e6)):
        for size, each in runs.items():
            times = [scale * run[i] for run in each]
            rows.append({"name": what % size, "cycles": min(times), "min": min(times),
                         "max": max(times), "reference": None, "ratio": None,
                         "limit": None, "processes": len(times)})
    return rows + [nat(quick, rounds)]
