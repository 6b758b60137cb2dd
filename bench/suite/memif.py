# SPDX-License-Identifier: Apache-2.0
"""A port in memory shared with another process against net_memif in C

192 packets of 60 bytes go round between both ends of a memif socket, in one thread: two
`memif:` ports, which believe their peer nothing, and two net_memif devices in C.
"""
import itertools
import tempfile

from suite import measure

LIMIT = 1.05


def run(quick, rounds=None):
    measure.build("peers")
    measure.pin()
    seconds = 0.3 if quick else 1
    rounds = rounds or (5 if quick else 20)
    numbers = itertools.count()
    with tempfile.TemporaryDirectory() as folder:
        def path():
            return f"{folder}/{next(numbers)}"

        results = measure.in_turn(rounds, {
            "perigee": lambda: measure.peers_cycles("memif:%s,role=server", "memif:%s",
                                                    path(), seconds),
            "c": lambda: measure.reference_peers_cycles(
                "net_memif_pg0,role=server,socket=%s,socket-abstract=no",
                "net_memif_pg1,role=client,socket=%s,socket-abstract=no", path(), seconds)})
    return [measure.row("memif", results["perigee"], results["c"], LIMIT),
            measure.worst_row("memif", results["perigee"], results["c"])]
