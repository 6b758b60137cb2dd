# SPDX-License-Identifier: Apache-2.0
"""What the engine's account of cycles costs: throughput with it and without

In one process, in turn: a null port's packets through a chain of Fwd apps, with
engine.count_cycles and without, in pairs. The medians are compared.
"""
from suite import measure

LIMIT = 1.02
CASES = ((0, 256), (10, 1), (10, 32), (10, 256))


def run(quick, rounds=None):
    measure.build()
    measure.pin()
    pairs = rounds or (15 if quick else 41)
    rows = []
    for length, burst in CASES:
        lines = measure.command(
            [measure.PERIGEE, "run", measure.ROOT / "bench/lua/accounting.lua", length,
             burst, pairs, 0.05], 120).splitlines()
        cycles = [[float(word) for word in line.split()] for line in lines]
        rows.append(measure.row("%d apps, bursts of %d / not counted" % (length, burst),
                                [c[0] for c in cycles], [c[1] for c in cycles], LIMIT))
    return rows
