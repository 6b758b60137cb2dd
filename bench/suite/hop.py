# SPDX-License-Identifier: Apache-2.0
"""What one more Fwd app costs, against the same ring hop in C

A hop's cost in a chain of N is what the chain costs more than one of length 0,
divided by N. The reference passes packets one by one from link to link, the
same rings with the same counters, in N apps called by function pointer.
"""
from suite import measure

LENGTHS = (1, 10, 100)
LIMIT = 1.4
PORT = "net_null_pg0,size=60,copy=0"


def costs(chain, base, length):
    """Cycles a hop in each round: run by run, so that a drift cancels out."""
    return [(cycles - zero) / length for cycles, zero in zip(chain, base)]


def run(quick):
    measure.build("chain")
    measure.pin()
    eal = measure.eal_arguments()
    seconds, rounds = (0.4, 4) if quick else (2, 11)

    def perigee(length):
        return lambda: measure.perigee_cycles("echo", "null", length, seconds)

    def reference(length):
        return lambda: measure.reference_cycles(
            "chain", PORT, length, measure.BURST, seconds, eal=eal)

    functions = {}
    for length in (0, *LENGTHS):
        functions["perigee%d" % length] = perigee(length)
        functions["c%d" % length] = reference(length)
    results = measure.in_turn(rounds, **functions)
    rows = [measure.row("chain of %d, a packet" % length,
                        results["perigee%d" % length], results["c%d" % length])
            for length in (0, *LENGTHS)]
    for length in LENGTHS:
        mine = costs(results["perigee%d" % length], results["perigee0"], length)
        other = costs(results["c%d" % length], results["c0"], length)
        rows.append(measure.row("chain of %d, a hop" % length, mine, other, LIMIT))
    return rows
