# SPDX-License-Identifier: Apache-2.0
"""Two workers joined by a ring, against rte_ring in C; and two copies against one

A null port's packets are received on one CPU and sent on another, in between is an
rte_ring; the reference does that with two threads in C. Then a null port with a queue
for each worker and 200 cycles of work a packet: two workers' packets a second of CPU
time against one's. Rounds in which a thread had less than 0.9 of its CPU don't
count: two threads that wait for each other can't be timed then.
"""
import os

from suite import measure

PORT = "net_null_pg0,size=60,copy=0"
RING_LIMIT = 1 / 0.8
COPIES_LIMIT = 1 / 1.7
QUIET = 0.9  # share of a CPU
ENOUGH = 3  # quiet rounds


def lines(text):
    return [[float(word) for word in line.split()] for line in text.splitlines()]


def run(quick, rounds=None):
    measure.build("cores")
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise measure.Failed("this takes two CPUs, and there is one")
    seconds = 0.3 if quick else 1
    rounds = rounds or (5 if quick else 20)
    a, b = cpus[:2]
    script = measure.ROOT / "bench" / "lua" / "cores.lua"

    def perigee(what):
        return lambda: lines(measure.command(
            [measure.PERIGEE, "run", script, what, a, b, seconds], 60))

    def reference():
        packets, wall, first, second, hertz = lines(measure.command(
            [measure.ROOT / "build" / "bench" / "cores", PORT, a, b, measure.BURST,
             seconds, *measure.eal_arguments()], 60))[0]
        return [[packets, wall, first, hertz], [packets, wall, second, hertz]]

    results = measure.in_turn(rounds, {
        "c": reference, "ring": perigee("ring"), "one": perigee("one"),
        "two": perigee("two")})
    busy = []

    def cycles(name, of):
        quiet = [r for r in results[name]
                 if all(cpu / wall >= QUIET for _, wall, cpu, _ in r)]
        if len(quiet) < ENOUGH:
            busy.append(name)
            quiet = results[name]
        return [of(r) for r in quiet]

    def of_slower(workers):
        """Packets pass both threads: the one that takes longer sets the pace."""
        return max(cpu * hertz / min(w[0] for w in workers)
                   for _, _, cpu, hertz in workers)

    def together(workers):
        return workers[0][3] / sum(packets / cpu for packets, _, cpu, _ in workers)

    rows = []
    for title, mine, other, of, limit in (
            ("over a ring to another CPU", "ring", "c", of_slower, RING_LIMIT),
            ("two copies / one", "two", "one", together, COPIES_LIMIT)):
        busy.clear()
        measured = cycles(mine, of), cycles(other, of)
        if busy:
            title, limit = title + " (CPUs too busy to judge)", None
        rows.append(measure.row(title, *measured, limit))
    return rows
