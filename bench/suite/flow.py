# SPDX-License-Identifier: Apache-2.0
"""Tables of flows: look-ups, new flows, the longest wait of growth; against rte_hash

src/net/flow and rte_hash take turns in one process. Figures are nanoseconds of CPU time
for a flow: the least of all turns, as other programs' work makes both slower. A look-up is one
of a burst of 64, in which each record found is read and its age renewed; of rte_hash that
is rte_hash_lookup_bulk_data and a record asked for ahead. New flows come from nothing,
in memory that is new; rte_hash's table, which doesn't grow, has its memory before. Last,
in microseconds of the thread's CPU time, the longest that an addition took while the table
grew, and that a look at the clock took in between: interrupts and the hypervisor's pauses
are in both. "Over 100 us" counts them; "behind a page fault" those that can be our own.
"""
import os
from statistics import median

from suite import measure

LIMIT = 1.05
ZIPF = 1.1
SIZES = ((64, "64"), (4096, "4 k"), (1 << 20, "1 M"), (1 << 24, "16 M"))
MEGABYTE = 1 << 20
BYTES_A_FLOW = {"ours": 116, "rte_hash": 80, "records": 16}
OTHERS_MB = 512  # of memory, that stay free


def available_mb():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) // 1024 for line in file
                    if line.startswith("MemAvailable"))


def fits(flows):
    return flows * sum(BYTES_A_FLOW.values()) // MEGABYTE + OTHERS_MB < available_mb()


def program(flows, *args):
    """What the C program prints: names and numbers. In plain memory, which holds it."""
    memory = 128 + flows * BYTES_A_FLOW["rte_hash"] // MEGABYTE
    text = measure.command(
        [measure.ROOT / "build/bench/flow", *args, "--no-huge", "-m", memory, "--no-pci",
         "--no-telemetry", "--log-level", "1", "--file-prefix", "flow%d" % os.getpid()], 900)
    return [line.split() for line in text.splitlines()]


def nanoseconds(flows, *args):
    """The least of ours and of the other's."""
    return {words[0]: float(words[2]) for words in program(flows, *args)}


def compared(name, runs, limit=None):
    return measure.paired_row(name, [run["ours"] for run in runs],
                              [run["other"] for run in runs], limit)


def find_rows(quick, rounds):
    seconds = 0.3 if quick else 2
    for flows, size in SIZES:
        if not fits(flows) or quick and flows > 1 << 20:
            print("%s flows are left out%s" % (
                size, "" if fits(flows) else ": there is no memory for two tables"))
            continue
        for exponent, law in ((0, "evenly"), (ZIPF, "Zipf %g" % ZIPF)):
            for hits, what in ((1, "hits"), (0, "misses")):
                yield compared("find, %s flows, %s, %s, ns" % (size, law, what), [
                    nanoseconds(flows, "find", flows, exponent, hits, seconds)
                    for _ in range(1 if flows > 1 << 20 else rounds)], LIMIT)


def add_rows(rounds):
    for flows, size in SIZES[1:3]:
        yield compared("new, %s flows from nothing, ns" % size, [
            nanoseconds(flows, "add", flows, 1) for _ in range(rounds)])


def grow_rows(quick):
    flows = 1 << 20 if quick else 1 << 24
    while not fits(flows):
        flows >>= 1
    runs = [[float(word) for word in program(64, "grow", flows)[0]]
            for _ in range(1 if quick else 3)]
    for at, what in ((0, "longest wait of an addition, us"), (1, "additions over 100 us")):
        mine, other = (median(run[i] for run in runs) for i in (at, at + 2))
        yield {"name": "growth to %d flows: %s" % (flows, what), "cycles": mine,
               "min": min(run[at] for run in runs), "max": max(run[at] for run in runs),
               "reference": other, "ratio": mine / other if other else None,
               "limit": None, "processes": len(runs)}
    faulted = [run[4] for run in runs]
    yield {"name": "growth to %d flows: of these, behind a page fault" % flows,
           "cycles": median(faulted), "min": min(faulted), "max": max(faulted),
           "reference": None, "ratio": None, "limit": None, "processes": len(runs)}


def run(quick, rounds=None):
    measure.build("flow")
    measure.pin()
    rounds = rounds or (2 if quick else 5)
    return [*find_rows(quick, rounds), *add_rows(rounds), *grow_rows(quick)]
