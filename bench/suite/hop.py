# SPDX-License-Identifier: Apache-2.0
"""What one more app between links costs, against the same ring hop in C

The apps have push() and pass packets on one by one, as in Snabb. A hop's cost in a
chain of N is what the chain costs more than one of length 0, divided by N; chains of
0 and 1 differ little, so they are run more often. The reference passes packets one
by one from link to link, the same rings with the same counters, in N apps called by
function pointer.
"""
from statistics import median

from suite import measure

LIMIT = 1.4
PORT = "net_null_pg0,size=60,copy=0"


def run(quick, rounds=None):
    measure.build("chain")
    measure.pin()
    seconds = 0.25 if quick else 1
    few = rounds or (3 if quick else 20)
    rounds = {0: max(few, 7), 1: max(few, 7), 10: few, 100: few}

    def perigee(length):
        return lambda: measure.script_cycles(
            "chain", "push", length, measure.BURST, seconds)

    def reference(length):
        return lambda: measure.reference_cycles(
            "chain", PORT, "links:%d" % length, measure.BURST, seconds)

    cycles = {}
    for lengths in ((0, 1), (10, 100)):
        functions = {}
        for length in lengths:
            functions["perigee", length] = perigee(length)
            functions["c", length] = reference(length)
        cycles.update(measure.in_turn(rounds[lengths[0]], functions))
    rows = [measure.row("chain of %d, a packet" % length,
                        cycles["perigee", length], cycles["c", length])
            for length in rounds]
    for length in (1, 10, 100):
        hop = {who: [(c - median(cycles[who, 0])) / length
                     for c in cycles[who, length]] for who in ("perigee", "c")}
        rows.append(measure.row("chain of %d, a hop" % length, hop["perigee"],
                                hop["c"], LIMIT))
    for length in rounds:
        rows.append(measure.worst_row("chain of %d" % length,
                                      cycles["perigee", length], cycles["c", length]))
    return rows
