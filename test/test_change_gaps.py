# SPDX-License-Identifier: Apache-2.0
"""How long packets wait for a change of configuration on a busy machine, beside what a
bare C thread on each CPU waits for its turn meanwhile (bench/native/pauses.c)."""

import contextlib
import os
import re

from helpers.command import PERIGEE, ROOT, check, running

CHANGES, BUSY, SECONDS = 20, 8, 4
SPIN = ("sh", "-c", "while :; do :; done")


def test_each_cpu_changes_by_itself():
    check("make", "-s", "-C", ROOT, "build/bench/pauses")
    script = ROOT / "test" / "change_gaps.lua"
    cpus = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as beside:
        for _ in range(BUSY):
            beside.enter_context(running(*SPIN))
        one = beside.enter_context(running(PERIGEE, "-p", ROOT / "test/lua", "run", script,
                                           CHANGES))
        one.wait_for("ready")
        bare = [beside.enter_context(running(ROOT / "build/bench/pauses", SECONDS, cpu))
                for cpu in cpus]
        assert [process.finish() for process in (one, *bare)] == [0] * (1 + len(bare))
    in_c = max(int(process.said.split()[-1]) for process in bare) / 1e3
    stood, most = re.search(r"configured %d times while running: ([\d.]+) ms in all, "
                            r"([\d.]+) ms at most" % CHANGES, one.said).groups()
    looked = max(int(n.replace(",", "")) for n in
                 re.findall(r"^  longest ([\d,]+)", one.said, re.M)) / 1e3
    print(f"a C thread {in_c:.0f} ms; {CHANGES} changes: {stood} ms in all, {most} ms at "
          f"most; the longest gap is {looked / in_c:.1f} times that of C")
    # A change of both CPUs in turn, by messages for each step, took two to three times.
    assert float(stood) / CHANGES < 1.5 * in_c
