# SPDX-License-Identifier: Apache-2.0
"""Runs perigee and its C references in turn and compares medians of CPU time.

The machines this runs on are shared: figures are cycles of CPU time, never of
wall time; what is compared ran in the same minute, taken in turn.
"""
import itertools
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PERIGEE = ROOT / "perigee"
BURST = 256  # perigee's PORT_BURST (src/native/api.h)


class Failed(Exception):
    pass


def command(args, timeout, env=None):
    """Run a command and return what it prints; Failed with its words if it fails."""
    done = subprocess.run([str(a) for a in args], cwd=ROOT, timeout=timeout, env=env,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed("%s ended with status %d: %s" % (
            " ".join(map(str, args)), done.returncode, done.stderr.strip()))
    return done.stdout


def build(*references):
    """Build perigee and C references, so that both are of this source."""
    targets = ["perigee"] + ["build/bench/" + name for name in references]
    command(["make", "-s", *targets], 600)


def pin():
    """Keep all runs on one CPU of those this process may use, the last."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def eal_arguments():
    """What perigee itself starts EAL with now, for a reference.

    Asked anew for each process: the free hugepages come and go.
    """
    script = "print(table.concat(require('core.eal').plan({}), ' '))"
    words = command([PERIGEE, "snsh", "-e", script], 10).split()
    return words[1:]


def cycles_of(text):
    """Cycles a packet, from a line of packets, CPU seconds and TSC Hz."""
    packets, seconds, hertz = map(float, text.split())
    return seconds * hertz / packets


def script_cycles(name, *args, vdev=None, timeout=60, options=()):
    """Cycles a packet of a program in bench/lua, which prints such a line.

    `vdev`: DPDK makes this device first, as its port 0. `options`: of perigee's.
    """
    options = [*options, *(["--eal", "--vdev=" + vdev] if vdev else [])]
    return cycles_of(command(
        [PERIGEE, *options, "run", ROOT / "bench" / "lua" / (name + ".lua"), *args],
        timeout))


def perigee_cycles(*args, timeout=60):
    """Cycles a packet in the load line of a perigee program's report."""
    text = command([PERIGEE, *args], timeout)
    found = re.search(r"([\d.]+) cycles/packet", text)
    if not found:
        raise Failed("no load line in what %s printed" % " ".join(map(str, args)))
    return float(found.group(1))


def reference_cycles(name, *args, timeout=60):
    """Cycles a packet of a C reference, which prints packets, seconds, Hz."""
    return cycles_of(
        command([ROOT / "build" / "bench" / name, *args, *eal_arguments()], timeout))


BURSTS_IN_C = (32, BURST)  # what programs in C use, and perigee's


def in_c(function, name="c"):
    """For in_turn: the C reference function(burst), at each burst it may be best at."""
    return {(name, burst): lambda burst=burst: function(burst) for burst in BURSTS_IN_C}


def best_in_c(results, name="c"):
    """Of its results those at the burst with the lowest median."""
    return min((results[name, burst] for burst in BURSTS_IN_C), key=statistics.median)


def pair_rows(name, ports, devices, limit, quick, rounds):
    """The rows of packets that go round between two ports which share memory, and between
    two devices in C: `ports` and `devices` are a server's text and a client's, with %s in
    the place of their socket."""
    build("pair")
    pin()
    seconds = 0.3 if quick else 1
    numbers = itertools.count()
    with tempfile.TemporaryDirectory() as folder:
        def at_new_path(ends):
            path = f"{folder}/{next(numbers)}"
            return path, [end % path for end in ends]

        def perigee():
            return script_cycles("pair", *at_new_path(ports)[1], seconds)

        def reference():
            path, ends = at_new_path(devices)
            return reference_cycles("pair", *ends, path, seconds)

        results = in_turn(rounds or (5 if quick else 20),
                          {"perigee": perigee, "c": reference})
    return [row(name, results["perigee"], results["c"], limit),
            worst_row(name, results["perigee"], results["c"])]


def in_turn(rounds, functions):
    """Call each of the functions (a dict) in turn, `rounds` times; their results."""
    results = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            results[name].append(function())
    return results


made = []  # rows, in case a later one fails


def row(name, cycles, reference, limit=None, **more):
    """A row of the result: medians, spread and ratio of two lists of cycles.

    `more` goes into the row as well: for plots `series`, a line's name, and `x`. The
    lists do, too: bench/trend compares them process by process.
    """
    mine, other = statistics.median(cycles), statistics.median(reference)
    made.append({"name": name, "cycles": mine, "min": min(cycles), "max": max(cycles),
                 "reference": other, "reference_min": min(reference),
                 "reference_max": max(reference), "ratio": mine / other,
                 "limit": limit, "processes": len(cycles),
                 "runs": cycles, "reference_runs": reference, **more})
    return made[-1]


def paired_row(name, cycles, reference, limit=None, **more):
    """The same, of lists made in turn; None is a run that failed. The ratio is the
    median of the quotients of runs that followed each other: on machines that are at
    times a third faster for some seconds, that of medians may compare such times."""
    pairs = [(mine, other) for mine, other in zip(cycles, reference) if other]
    return row(name, cycles, [other for _, other in pairs], limit,
               ratio=statistics.median(mine / other for mine, other in pairs),
               runs=[mine for mine, _ in pairs], **more)


ENOUGH_FOR_WORST = 20  # processes
ALLOWANCE = 0.10


def worst_row(name, cycles, reference, allowed=0):
    """How far the slowest process is from the median, beside the reference's.

    A row of quotients rather than of cycles: the slowest process to the median,
    and the reference's, plus 10 points, which is the limit, or `allowed` if that is
    more. None when there were fewer than 20 processes.
    """
    if min(len(cycles), len(reference)) < ENOUGH_FOR_WORST:
        return None
    mine = max(cycles) / statistics.median(cycles)
    other = max(reference) / statistics.median(reference)
    most = max(other + ALLOWANCE, allowed)
    return {"name": name + ": worst/median", "cycles": mine, "min": None, "max": None,
            "reference": most, "reference_worst": other, "ratio": mine / most,
            "limit": 1, "processes": len(cycles), "quotient": True}


def hertz():
    """Of the TSC."""
    return float(command([PERIGEE, "snsh", "-e", "print(require('core.native').pg_tsc_hz())"],
                         10).split()[0].rstrip("ULL"))


def machine():
    """What was measured on: CPU, number of CPUs, TSC, kernel, hugepages, versions."""
    info = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", info)
    return {"cpu": model.group(1) if model else "unknown", "cpus": os.cpu_count(),
            "tsc_hz": hertz(), "kernel": os.uname().release,
            "hugepages": "--no-huge" not in eal_arguments(),
            "versions": command([PERIGEE, "--version"], 10).strip()}
