# SPDX-License-Identifier: Apache-2.0
"""`perigee echo null 0` against rte_eth_rx_burst and rte_eth_tx_burst in C

The reference moves the same packets of the same net_null port in one array, in
bursts of the size perigee uses, and touches none. The limit says that perigee
moves at least 0.85 of what it moves. A second reference uses bursts of 64.
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
        "same": lambda: measure.reference_cycles(
            "chain", PORT, "direct", measure.BURST, seconds),
        "small": lambda: measure.reference_cycles(
            "chain", PORT, "direct", 64, seconds)})
    return [
        measure.row("echo null 0", results["perigee"], results["same"], LIMIT),
        measure.row("echo null 0, C in bursts of 64", results["perigee"],
                    results["small"]),
        measure.worst_row("echo null 0", results["perigee"], results["same"]),
    ]
