# SPDX-License-Identifier: Apache-2.0
"""Chains of 0 to 100 apps: with links, fused, and in C

A null port's packets go through a chain of apps that pass them on, and back to the
port: apps with push() between links, as in Snabb, the same fused as they are, and apps
with process(), fused.
The reference calls as many functions by pointer for each burst of 32 or of perigee's size,
whichever is better; they only pass it on. Apps that do something, swap Ethernet addresses,
are set against such functions that loop over the burst.
"""
from suite import measure

PORT = "net_null_pg0,size=60,copy=0"
LENGTHS = (0, 1, 2, 5, 10, 20, 50, 100)
HUNDRED_LIMIT = 1.2
LIFTED_LIMIT = 1.3
ONE_LIMIT = 1.15
SWAP_LIMIT = 1.0
SWAPS = 10
SERVICE_LIMIT = 0.67


def run(quick, rounds=None):
    measure.build("chain")
    measure.pin()
    seconds = 0.2 if quick else 0.4
    rounds = rounds or (3 if quick else 20)
    lengths = (0, 1, 10, 100) if quick else LENGTHS

    def perigee(kind, length):
        return lambda: measure.script_cycles(
            "chain", kind, length, measure.BURST, seconds)

    functions, in_c = {}, []

    def add_reference(name, what):
        in_c.append(name)
        functions.update(measure.in_c(lambda burst: measure.reference_cycles(
            "chain", PORT, what, burst, seconds), name))

    add_reference("direct", "direct")
    for n in lengths:
        add_reference(("calls", n), "calls:%d" % n)
        functions["push", n] = perigee("push", n)
        if n > 0:
            functions["fused", n] = perigee("fused", n)
            functions["lifted", n] = perigee("lifted", n)
    for kind in "service", "service-lifted":
        functions[kind] = perigee(kind, 1)
    functions["swap"] = perigee("swap", SWAPS)
    add_reference("stages", "swap:%d" % SWAPS)
    cycles = measure.in_turn(rounds, functions)
    cycles.update({name: measure.best_in_c(cycles, name) for name in in_c})

    rows = []

    def apps(n):
        return "%d app%s" % (n, "" if n == 1 else "s")

    def add(name, mine, other, limit=None, **more):
        rows.append(measure.row(name, cycles[mine], cycles[other], limit, **more))

    titles = {"push": "links", "lifted": "Snabb's form, fused", "fused": "fused"}
    for kind, title in titles.items():
        for n in lengths:
            if (kind, n) in cycles:
                add("%s, %s" % (title, apps(n)), (kind, n), ("calls", n),
                    series=title, x=n)
    add("fused, 1 app / C without apps", ("fused", 1), "direct", ONE_LIMIT)
    add("fused, 100 apps / 1 app", ("fused", 100), ("fused", 1), HUNDRED_LIMIT)
    add("Snabb's form, fused, 100 apps / 1 app", ("lifted", 100), ("lifted", 1),
        LIFTED_LIMIT)
    add("Snabb's form, fused, 100 apps / with links", ("lifted", 100), ("push", 100))
    add("filters, VLAN, NAT, limiter, counters in Snabb's form, fused / with links",
        "service-lifted", "service", SERVICE_LIMIT)
    add("swap, %d fused apps / %d loops in C" % (SWAPS, SWAPS), "swap", "stages",
        SWAP_LIMIT)
    for kind, n in [key for key in cycles if key[0] in titles]:
        rows.append(measure.worst_row(
            "%s, %s" % (titles[kind], apps(n)),
            cycles[kind, n], cycles["calls", n]))
    rows.append(measure.worst_row("swap, %d fused apps" % SWAPS, cycles["swap"],
                                  cycles["stages"]))
    return rows
