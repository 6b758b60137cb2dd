# SPDX-License-Identifier: Apache-2.0
"""Capture files: read over and over, written, and copied

Packets of 60 bytes come from a file that fits in memory; go to /dev/null; and, 500,000
of them, from one file into another, on a file system in memory. So do 100,000 of 60, 590
and 1514 bytes in the ratio 7:4:1. The reference maps the file into memory, and writes by
1 MB.
"""
import os
import pathlib
import random
import tempfile

from suite import measure, traffic

SHARED_MEMORY = "/dev/shm"
COPIED, MIXED = 500_000, 100_000


def frames(sizes):
    return [bytes(size) for size in sizes]


def mixed(count):
    dice = random.Random(1)
    return frames(dice.choice([60] * 7 + [590] * 4 + [1514]) for _ in range(count))


def run(quick, rounds=None):
    measure.build("pcap")
    measure.pin()
    seconds = 0.4 if quick else 1
    rounds = rounds or (5 if quick else 20)
    looped = traffic.write("pcap", frames([60] * 2000))
    sources = {"60 bytes": traffic.write("pcap_60", frames([60] * COPIED)),
               "IMIX": traffic.write("pcap_imix", mixed(MIXED))}
    with tempfile.TemporaryDirectory(
            dir=SHARED_MEMORY if os.path.isdir(SHARED_MEMORY) else None) as folder:
        target = pathlib.Path(folder) / "copy.pcap"
        work = {"read, 60 bytes": ("read", looped, seconds),
                "write, 60 bytes": ("write", "/dev/null", seconds)}
        for name, source in sources.items():
            work["copy, " + name] = ("copy", source, target)
        cycles = measure.in_turn(rounds, {
            (name, kind): lambda args=args, of=of: of("pcap", *args)
            for name, args in work.items()
            for kind, of in (("perigee", measure.script_cycles),
                             ("c", measure.reference_cycles))})
    rows = [measure.row(name, cycles[name, "perigee"], cycles[name, "c"])
            for name in work]
    return rows + [measure.worst_row(name, cycles[name, "perigee"], cycles[name, "c"])
                   for name in work]
