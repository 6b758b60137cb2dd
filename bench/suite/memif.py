# SPDX-License-Identifier: Apache-2.0
"""A port in memory shared with another process against net_memif in C

192 packets of 60 bytes go round between both ends of a memif socket, in one thread: two
`memif:` ports, which believe their peer nothing, and two net_memif devices in C.
"""
from suite import measure

LIMIT = 1.05


def run(quick, rounds=None):
    return measure.pair_rows(
        "memif", ("memif:%s,role=server", "memif:%s"),
        ("net_memif_pg0,role=server,socket=%s,socket-abstract=no",
         "net_memif_pg1,role=client,socket=%s,socket-abstract=no"), LIMIT, quick, rounds)
