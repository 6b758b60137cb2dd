# SPDX-License-Identifier: Apache-2.0
"""Bursts of 1 to 256 packets, through one app

A null port's packets, received so many at a time, go through one app that passes
them on: one with push() between links, or one with process(), fused. The
reference receives and sends as many at a time in C, and has no app. Then bursts of
0 to 64, another each time; and full bursts that come after single packets, against
runs that had full bursts from the start.
"""
from suite import measure

PORT = "net_null_pg0,size=60,copy=0"
BURSTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LATE_LIMIT = 1.1
LATE_SECONDS = 2
KINDS = (("push", "links"), ("fused", "fused"))


def run(quick, rounds=None):
    measure.build("chain")
    measure.pin()
    seconds = 0.2 if quick else 0.4
    rounds = rounds or (3 if quick else 20)
    bursts = (1, 16, 256) if quick else BURSTS
    late = "late:%g" % (0.5 if quick else LATE_SECONDS)

    def perigee(kind, burst):
        return lambda: measure.script_cycles("chain", kind, 1, burst, seconds)

    def reference(burst):
        return lambda: measure.reference_cycles(
            "chain", PORT, "direct", burst, seconds)

    functions = {}
    for burst in (*bursts, "random"):
        functions["c", burst] = reference(burst)
        for kind, _ in KINDS:
            functions[kind, burst] = perigee(kind, burst)
    cycles = measure.in_turn(rounds, functions)
    cycles.update(measure.in_turn(
        rounds, {(kind, "late"): perigee(kind, late) for kind, _ in KINDS}))

    rows = []
    for kind, title in KINDS:
        for burst in bursts:
            rows.append(measure.row("%s, bursts of %d" % (title, burst),
                                    cycles[kind, burst], cycles["c", burst],
                                    series=title, x=burst))
        rows.append(measure.row("%s, random bursts of 0 to 64" % title,
                                cycles[kind, "random"], cycles["c", "random"]))
        rows.append(measure.row("%s, full after single / full" % title,
                                cycles[kind, "late"], cycles[kind, measure.BURST],
                                LATE_LIMIT))
    for kind, title in KINDS:
        for burst in (*bursts, "random"):
            rows.append(measure.worst_row("%s, bursts: %s" % (title, burst),
                                          cycles[kind, burst], cycles["c", burst]))
        rows.append(measure.worst_row("%s, full after single" % title,
                                      cycles[kind, "late"], cycles["c", measure.BURST]))
    return rows
