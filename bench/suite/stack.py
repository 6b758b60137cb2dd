# SPDX-License-Identifier: Apache-2.0
"""Protocol stacks: fields, encapsulation, checksums, slow functions; against C

One field, VXLAN encapsulation, checksums and the checked cast through lib.stack,
beside the same in C (and by hand in Lua), in turns in one process, on the same
packets: a row's ratio is the median of the processes' ratios. Then the cliffs: a
packet loop at 51 sizes of bursts from 1 to 256, each process beginning with another,
before and after 1,000,000 calls of slow functions; where a loop fell off what the
median process does, over C in the same moment, the row "worst/median" tells. Last, in
microseconds of CPU time, the functions that aren't for packet loops.
"""
from statistics import median

from suite import measure

SET_LIMIT, COPY_LIMIT, CLIFF_LIMIT = 1.05, 1.15, 1.5
RINGS = (64, 4096)
SIZES = (64, 256, 512, 1024, 1500)
SETTERS = {"stack": "src:set(n)", "method": "setSrc(n)"}
OTHERS = (  # work, bytes, what
    ("template", 64, "VXLAN, headers from a template, 64 bytes copied"),
    ("check", 60, "checked cast, 3 headers"),
    ("ip4", 60, "IPv4 checksum"),
    ("udp", 60, "UDP checksum, 60 bytes"),
    ("udp", 1500, "UDP checksum, 1500 bytes"),
    ("tcp", 60, "TCP checksum, 60 bytes"),
    ("tcp", 1500, "TCP checksum, 1500 bytes"))
SLOW = ("all", "fill", "get", "getString", "dump", "verify", "resolve", "createStack")
BURSTS = 51  # how many sizes bench/lua/cliffs.lua has
TIMES = {  # microseconds, with 7 headers
    "createStack": 25, "createStack-again": None, "fill": 2.5, "get": None,
    "getString": None, "dump": None, "verify": None, "resolve": None}


def lines(script, *args):
    """What a program in bench/lua prints: words of a line, by the first.

    In plain memory: free hugepages come and go, and may not hold the larger ring.
    """
    file = measure.ROOT / "bench" / "lua" / (script + ".lua")
    text = measure.command(
        [measure.PERIGEE, "--eal", "--no-huge", "run", file, *args], 300)
    return {words[0]: list(map(float, words[1:]))
            for words in map(str.split, text.splitlines())}


def work(name, ring, size, seconds):
    return lambda: {variant: value for variant, (value,) in
                    lines("stack", name, ring, size, seconds).items()}


def paired_row(name, runs, mine, other, limit=None):
    """A row whose ratio is the median of the processes' ratios."""
    ratio = median(run[mine] / run[other] for run in runs)
    return measure.row(name, [run[mine] for run in runs], [run[other] for run in runs],
                       limit, ratio=ratio)


def work_rows(quick, rounds):
    seconds = 0.2 if quick else 0.5
    sizes = (64, 1500) if quick else SIZES
    works = [("set", ring, 60) for ring in RINGS]
    works += [("vxlan", ring, size) for ring in RINGS for size in sizes]
    works += [(name, 64, size) for name, size, _ in OTHERS]
    runs = measure.in_turn(rounds, {key: work(*key, seconds) for key in works})
    rows = []
    for ring in RINGS:
        what = "IPv4 source, ring of %d: " % ring
        for setter, text in SETTERS.items():
            rows.append(paired_row(what + text + " / one store", runs["set", ring, 60],
                                   setter, "word", SET_LIMIT))
        rows.append(paired_row(what + "src:set(n) / four stores",
                               runs["set", ring, 60], "stack", "bytes"))
        rows.append(paired_row(what + "src:set(n)", runs["set", ring, 60], "stack",
                               "c"))
        rows.append(paired_row(what + "four stores / one, both in C",
                               runs["set", ring, 60], "c-bytes", "c"))
    for ring in RINGS:
        for size in sizes:
            rows.append(paired_row(
                "VXLAN, ring of %d, %d bytes copied" % (ring, size),
                runs["vxlan", ring, size], "stack", "c", COPY_LIMIT))
    for name, size, what in OTHERS:
        rows.append(paired_row(what, runs[name, 64, size], "stack", "c"))
    return rows


def worst_to_median(values):
    return max(values) / median(values)


def cliff_row(name, mine, other, processes):
    """A row as measure.worst_row's, of the burst that is worst; C's beside it."""
    return {"name": name, "cycles": mine, "min": None, "max": None,
            "reference": CLIFF_LIMIT, "reference_worst": other,
            "ratio": mine / CLIFF_LIMIT, "limit": 1, "processes": processes,
            "quotient": True}


def cliff_rows(quick, rounds):
    calls, seconds = (20000, 0.0005) if quick else (1000000, 0.002)
    runs = [lines("cliffs", SLOW[i % len(SLOW)], calls, i * BURSTS // rounds, seconds)
            for i in range(rounds)]
    rows, worst = [], {"before": [], "after": [], "change": []}
    for burst in runs[0]:
        mine, late, other, late_other = zip(*(run[burst] for run in runs))
        rows.append(measure.row("bursts of %s, after slow calls" % burst, late,
                                late_other, series="stack", x=int(burst),
                                before=median(mine)))
        # Over C's in the same moment: a busy neighbour slows both.
        first = [a / b for a, b in zip(mine, other)]
        second = [a / b for a, b in zip(late, late_other)]
        worst["before"].append((worst_to_median(first), worst_to_median(other)))
        worst["after"].append((worst_to_median(second), worst_to_median(late_other)))
        worst["change"].append((median(second) / median(first),
                                median(late_other) / median(other)))
    text = "{:,} slow calls".format(calls)
    for kind, name in (("before", "51 sizes of burst: worst/median"),
                       ("after", "after %s: worst/median" % text),
                       ("change", "after / before %s: medians" % text)):
        if kind != "change" and rounds < measure.ENOUGH_FOR_WORST:
            continue
        mine, other = zip(*worst[kind])
        rows.append(cliff_row(name, max(mine), max(other), rounds))
    return rows


def time_rows(quick, rounds):
    runs = [lines("slow", 2000 if quick else 10000) for _ in range(rounds)]
    rows = []
    for name, most in TIMES.items():
        values = [run[name][0] for run in runs]
        text = name + ", microseconds" + ("; at most %g" % most if most else "")
        rows.append({"name": text, "cycles": median(values), "min": min(values),
                     "max": max(values), "reference": None,
                     "ratio": most and median(values) / most, "limit": most and 1,
                     "processes": len(values)})
    return rows


def run(quick, rounds=None):
    measure.build("stack.so")
    measure.pin()
    return (work_rows(quick, rounds or (3 if quick else 9))
            + cliff_rows(quick, rounds or (3 if quick else 20))
            + time_rows(quick, rounds or (3 if quick else 11)))
