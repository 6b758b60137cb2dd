# SPDX-License-Identifier: Apache-2.0
"""The steady rate, whatever came before

A graph of two ways that join, fused and with links: after traffic has moved from one
way to the other, after 20 reconfigurations under load, after 100,000 calls of slow
functions. The reference is the same graph in a process where packets go that way
from the start; the limit says that the rates are within 10 %.
"""
from suite import measure

LIMIT = 1.10
HISTORIES = {"moved": "after moving to another branch",
             "reconfigured": "after 20 reconfigurations",
             "slow": "after 100,000 slow calls"}


def run(quick, rounds=None):
    measure.build()
    measure.pin()
    seconds = 0.3 if quick else 1
    rounds = rounds or (3 if quick else 11)

    def script(kind, history):
        return lambda: measure.script_cycles("steady", kind, history, seconds)

    kinds = ("fused", "links")
    cycles = measure.in_turn(rounds, {
        (kind, history): script(kind, history)
        for kind in kinds for history in ("none", *HISTORIES)})
    return [measure.row("%s, %s" % (kind, text), cycles[kind, history],
                        cycles[kind, "none"], LIMIT)
            for kind in kinds for history, text in HISTORIES.items()]
