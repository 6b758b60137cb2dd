# SPDX-License-Identifier: Apache-2.0
"""The last packets kept in memory, as `perigee record` does

Packets come from a null port, and stay in a ring of 256 MiB as blocks of pcapng until
others overwrite them. The reference copies packets of a burst into such a ring, and keeps
no account of what is overwritten. Most of it is memory's time: each packet's bytes are
written to where they were last written 256 MiB ago.
"""
from suite import measure

SIZES = 60, 590, 1500


def run(quick, rounds=None):
    measure.build("record")
    measure.pin()
    rounds = rounds or (2 if quick else 10)
    seconds = 0.5 if quick else 2
    work = {}
    for size in SIZES:
        work[size, "perigee"] = lambda size=size: measure.script_cycles(
            "record", size, seconds)
        work |= measure.in_c(lambda burst, size=size: measure.reference_cycles(
            "record", size, seconds, burst), (size, "c"))
    cycles = measure.in_turn(rounds, work)
    return [measure.row("%d bytes" % size, cycles[size, "perigee"],
                        measure.best_in_c(cycles, (size, "c"))) for size in SIZES]
