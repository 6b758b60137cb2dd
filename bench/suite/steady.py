# SPDX-License-Identifier: Apache-2.0
"""The steady rate, whatever came before

A graph of two ways that join, fused and with links: after traffic has moved from one
way to the other, after 20 reconfigurations under load, after 100,000 calls of slow
functions. The reference is the same graph in a process where packets go that way
from the start; the limit says that the rates are within 10 %. How far the slowest
process may be off is judged by rte_eth_rx_burst and rte_eth_tx_burst in C.
"""
from suite import measure

LIMIT = 1.10
PORT = "net_null_pg0,size=60,copy=0"
HISTORIES = {"moved": "after moving to another branch",
             "reconfigured": "after 20 reconfigurations",
             "slow": "after 100,000 slow calls"}


def run(quick, rounds=None):
    measure.build("chain")
    measure.pin()
    seconds = 0.3 if quick else 1
    rounds = rounds or (3 if quick else 20)

    def script(kind, history):
        return lambda: measure.script_cycles("steady", kind, history, seconds)

    kinds = ("fused", "links")
    functions = {(kind, history): script(kind, history)
                 for kind in kinds for history in ("none", *HISTORIES)}
    functions["c"] = lambda: measure.reference_cycles(
        "chain", PORT, "direct", measure.BURST, seconds)
    cycles = measure.in_turn(rounds, functions)
    rows = [measure.row("%s, %s" % (kind, text), cycles[kind, history],
                        cycles[kind, "none"], LIMIT)
            for kind in kinds for history, text in HISTORIES.items()]
    return rows + [measure.worst_row("%s, %s" % (kind, history), cycles[kind, history],
                                     cycles["c"])
                   for kind in kinds for history in ("none", *HISTORIES)]
