# SPDX-License-Identifier: Apache-2.0
"""The last packets kept in memory, as `perigee record` does

Packets come from a null port, and stay in a ring of 256 MiB as blocks of pcapng until
others overwrite them. The reference copies packets of a burst into such a ring, and keeps
no account of what is overwritten. Most of it is memory's time: each packet's bytes are
written to where they were last written 256 MiB ago.

With flows: UDP headers are written into packets, one of so many flows at random each, and
flows are accounted, as `record --flows` does; in C by rte_hash, a burst at once.
"""
from suite import measure

SIZES = 60, 590, 1500
FLOWS = 1000, 100000


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
            "record", size, seconds, burst, 0, 0), (size, "c"))
    kinds = [(flows, metered) for flows in FLOWS for metered in (False, True)]
    for flows, metered in kinds:
        work[flows, metered, "perigee"] = lambda flows=flows, metered=metered: (
            measure.script_cycles("record", 60, seconds, flows, *["metered"] * metered))
        work |= measure.in_c(lambda burst, flows=flows, metered=metered:
                             measure.reference_cycles("record", 60, seconds, burst, flows,
                                                      int(metered)),
                             (flows, metered, "c"))
    cycles = measure.in_turn(rounds, work)
    return [measure.row("%d bytes" % size, cycles[size, "perigee"],
                        measure.best_in_c(cycles, (size, "c"))) for size in SIZES] + [
        measure.row("60 bytes of %d flows%s" % (flows, ", metered" if metered else ""),
                    cycles[flows, metered, "perigee"],
                    measure.best_in_c(cycles, (flows, metered, "c")))
        for flows, metered in kinds]
