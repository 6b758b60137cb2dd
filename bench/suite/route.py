# SPDX-License-Identifier: Apache-2.0
"""Routes: look-ups one by one, against rte_lpm and rte_lpm6

src/net/route's tables and DPDK's take turns in one process, and must find the same. Figures
are nanoseconds of CPU time for a look-up: the least of all turns, as other programs' work
makes both slower. Addresses are within prefixes of the lengths that the Internet's have.
DPDK's tables take 64 MB and up; ours the routes' own, so that they stay in caches. (A burst
at a time, by rte_fib, is `bench/run router`.)
"""
import os

from suite import measure

SIZES = {4: (10, 1000, 100000), 6: (10, 1000, 10000)}


def nanoseconds(family, routes, seconds):
    """Of a look-up: ours, and the other's."""
    text = measure.command(
        [measure.ROOT / "build/bench/route", family, routes, seconds, "--no-huge", "-m", 1024,
         "--no-pci", "--no-telemetry", "--log-level", "1", "--file-prefix",
         "route%d" % os.getpid()], 120)
    return [float(line.split()[1]) for line in text.splitlines()]


def run(quick, rounds=None):
    measure.build("route")
    measure.pin()
    rounds = rounds or (2 if quick else 5)
    for family, sizes in SIZES.items():
        for routes in sizes:
            runs = [nanoseconds(family, routes, 0.2 if quick else 1) for _ in range(rounds)]
            yield measure.paired_row("IPv%d, %d routes, ns" % (family, routes),
                                     *zip(*runs))
