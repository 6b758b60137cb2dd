# SPDX-License-Identifier: Apache-2.0
"""`perigee echo null 0` against rte_eth_rx_burst and rte_eth_tx_burst in C

The reference moves the same packets of the same net_null port in one array, and touches
none, in bursts of 32 or of the size perigee uses, whichever is better. The limit says that
perigee moves at least 0.85 of what it moves.
"""
from suite import measure

LIMIT = 1 / 0.85
PORT = "net_null_pg0,size=60,copy=0"


def run(quick, rounds=None):
    measure.build("chain")
    measure.pin()
    seconds = 1 if quick else 2
    rounds = rounds or (5 if quick else 20)
    results = measure.in_turn(rounds, {
        "perigee": lambda: measure.perigee_cycles("echo", "null", 0, seconds),
        **measure.in_c(lambda burst: measure.reference_cycles(
            "chain", PORT, "direct", burst, seconds))})
    mine, other = results["perigee"], measure.best_in_c(results)
    return [measure.row("echo null 0", mine, other, LIMIT),
            measure.worst_row("echo null 0", mine, other)]
