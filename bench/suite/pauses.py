# SPDX-License-Identifier: Apache-2.0
"""Pauses between looks at a port, beside a loop that only looks at the clock

A null port's packets pass ten fused apps. So many times the port wasn't asked for packets
for over 50, and over 100 microseconds: as long as one that came meanwhile would have
waited. The reference is a C loop that does nothing but look at the clock, on another CPU
at the same time. Both take turns on both CPUs: what the kernel and the hypervisor do
differs from CPU to CPU. A loop that looks all the time sees a pause of 45 microseconds as
one; one with work between looks sees some of them as over 50. So a second reference works
as long as it takes from look to look, in turn with Perigee, and with the same loop beside
it. The figures are gaps in the time, not cycles.
"""
import os
import subprocess

from suite import measure

LIMIT = 1.2


def numbers(process):
    """What a process of either kind prints."""
    out, err = process.communicate(timeout=120)
    if process.returncode != 0:
        raise measure.Failed("%s: %s" % (process.args, err.strip()))
    return [float(word) for word in out.split()]


def beside(first, second):
    """Both commands at the same time; what they print."""
    processes = [subprocess.Popen([str(word) for word in args], cwd=measure.ROOT,
                                  text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) for args in (first, second)]
    return [numbers(process) for process in processes]


def both_ways(cpus, command, reference):
    """command(CPU) beside reference(CPU), once on each CPU: the gaps over 50 us and over
    100 us of the one, those of the other, and what the one has printed last."""
    pairs = [beside(command(here), reference(there)) for here, there in (cpus, cpus[::-1])]
    mine, other = [[sum(pair[side][i] for pair in pairs) for i in (0, 1)] for side in (0, 1)]
    return mine, other, pairs[-1][0][-1]


def run(quick, rounds=None):
    measure.build("pauses", "pauses.so")
    cpus = sorted(os.sched_getaffinity(0))[-2:]
    if len(cpus) < 2:
        raise measure.Failed("two CPUs are needed, one for the reference")
    seconds = 3 if quick else 20
    rounds = rounds or (1 if quick else 3)
    folder = measure.ROOT / "build" / "bench"

    def perigee(cpu):
        return ["taskset", "-c", cpu, measure.PERIGEE, "run",
                measure.ROOT / "bench" / "lua" / "pauses.lua", folder / "pauses.so", seconds]

    def bare(cpu):
        return [folder / "pauses", seconds, cpu]

    mine, beside_it, working = [], [], []
    for _ in range(rounds):
        count, other, interval = both_ways(cpus, perigee, bare)
        mine.append(count)
        beside_it.append([max(n, 1) for n in other])
        count, _, _ = both_ways(cpus, lambda cpu, us=interval: [*bare(cpu), us], bare)
        working.append([max(n, 1) for n in count])
    return [measure.row("gaps over %d us in %d s%s" % (us, 2 * seconds, what),
                        [counts[i] for counts in mine], [counts[i] for counts in others],
                        limit)
            for what, others, limit in (("", beside_it, LIMIT),
                                        (", C with as much work between looks", working, None))
            for i, us in enumerate((50, 100))]
