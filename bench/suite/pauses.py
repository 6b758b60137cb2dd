# SPDX-License-Identifier: Apache-2.0
"""Pauses between breaths, beside a loop that only looks at the clock

A null port's packets pass ten fused apps. Each breath looks at the time stamp counter:
so many times it hadn't for over 50, and over 100 microseconds. The reference is a C loop
that does nothing else, on another CPU at the same time. Both take turns on both CPUs:
what the kernel and the hypervisor do differs from CPU to CPU. The figures are gaps in
the time, not cycles.
"""
import os
import subprocess

from suite import measure

LIMIT = 1.2


def gaps(process):
    """What a process of either kind prints: gaps over 50 us, over 100 us."""
    out, err = process.communicate(timeout=120)
    if process.returncode != 0:
        raise measure.Failed("%s: %s" % (process.args, err.strip()))
    return [int(word) for word in out.split()[:2]]


def beside(first, second):
    """Both commands at the same time; the gaps of each."""
    processes = [subprocess.Popen([str(word) for word in args], cwd=measure.ROOT,
                                  text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) for args in (first, second)]
    return [gaps(process) for process in processes]


def run(quick, rounds=None):
    measure.build("pauses", "pauses.so")
    cpus = sorted(os.sched_getaffinity(0))[-2:]
    if len(cpus) < 2:
        raise measure.Failed("two CPUs are needed, one for the reference")
    seconds = 3 if quick else 20
    rounds = rounds or (1 if quick else 3)
    library = measure.ROOT / "build" / "bench" / "pauses.so"
    mine, other = [], []
    for _ in range(rounds):
        both = []
        for here, there in (cpus, cpus[::-1]):
            both.append(beside(
                ["taskset", "-c", here, measure.PERIGEE, "run",
                 measure.ROOT / "bench" / "lua" / "pauses.lua", library, seconds],
                [measure.ROOT / "build" / "bench" / "pauses", seconds, there]))
        mine.append([sum(pair[0][i] for pair in both) for i in (0, 1)])
        other.append([max(sum(pair[1][i] for pair in both), 1) for i in (0, 1)])
    return [measure.row("gaps over %d us in %d s" % (us, 2 * seconds),
                        [counts[i] for counts in mine], [counts[i] for counts in other],
                        LIMIT) for i, us in enumerate((50, 100))]
