# SPDX-License-Identifier: Apache-2.0
"""Capture files sent over and over from memory, by reference count

`replay --topspeed --loop 0` and `packetblaster replay` keep a file's packets and send
them again and again: a set that stays in the CPU's cache, and 71 MB of packets of 357
bytes, which doesn't. The reference does the same in C. Both send by a null port, which
frees what it is given at once. Other rows: the bounds that were set, in cycles; and
copies, as ports get them that mustn't be given what others have, too.
"""
from suite import measure, traffic

LIMIT = 1.2
SETS = {"in the cache": (60, 128, 30), "71 MB": (357, 199_936, 150)}


def run(quick, rounds=None):
    measure.build("replay")
    measure.pin()
    seconds = 0.5 if quick else 2
    rounds = rounds or (5 if quick else 20)
    functions = {}
    for name, (size, count, _) in SETS.items():
        file = traffic.write("replay_%d" % size, [bytes(size)] * count)
        for kind in ("shared", "copied"):
            functions[name, kind] = lambda file=file, kind=kind: measure.script_cycles(
                "replay", kind, file, seconds)
        functions[name, "c"] = lambda file=file: measure.reference_cycles(
            "replay", file, seconds)
    cycles = measure.in_turn(rounds, functions)
    rows = []
    for name, (size, count, most) in SETS.items():
        mine = cycles[name, "shared"]
        rows += [measure.row(name, mine, cycles[name, "c"], LIMIT),
                 measure.row(name + " / %d cycles" % most, mine, [most], 1),
                 measure.row(name + " / copies", mine, cycles[name, "copied"], 1),
                 measure.worst_row(name, mine, cycles[name, "c"])]
    return rows
