# SPDX-License-Identifier: Apache-2.0
"""Time by what the machine gives: limits of a test run that don't run out while other
programs have the CPUs."""

import os
import pathlib
import time

STRETCH = 2.5  # on a busy machine a limit grows to so many times itself, and no further
INTERVAL_S = 1.0
IDLE = 3, 4  # proc(5): /proc/stat, idle and iowait
# proc(5), /proc/PID/stat: so far behind the name, the first of utime, stime, cutime, cstime.
UTIME = 11


def processes():
    """Of each process its parent's pid, and its CPU time in ticks, with that of its
    children for which it has waited."""
    found = {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            found[int(folder.name)] = (int(fields[1]),
                                       sum(map(int, fields[UTIME:UTIME + 4])))
    return found


def descendants(pid, found=None):
    """The pids of a process's children, theirs, and so on."""
    children = {}
    for child, (parent, _) in (found or processes()).items():
        children.setdefault(parent, []).append(child)
    below, seen = list(children.get(pid, [])), []
    while below:
        seen.append(below.pop())
        below += children.get(seen[-1], [])
    return seen


def read_machine():
    """Ticks so far: those of the CPUs that we may use, of these the idle ones, and those
    that this process and its descendants have used. None where the kernel tells none."""
    try:
        lines = pathlib.Path("/proc/stat").read_text().splitlines()
        cpus = os.sched_getaffinity(0)
        rows = [[int(n) for n in line.split()[1:9]] for line in lines
                if line.startswith("cpu") and line[3:4].isdigit()
                and int(line.split()[0][3:]) in cpus]
        found = processes()
        ours = sum(found[pid][1] for pid in [os.getpid(), *descendants(os.getpid(), found)])
    except (OSError, KeyError, ValueError):
        return None
    return sum(map(sum, rows)), sum(row[i] for row in rows for i in IDLE), ours


class Clock:
    """Seconds since it was made: of each interval only the share of the CPUs' time that we
    had, or that nobody wanted; at least one STRETCHth. What has hung ends, too."""

    def __init__(self, read=read_machine, now=time.monotonic):
        self.read, self.now = read, now
        self.seconds, self.at, self.before = 0.0, now(), read()

    def tell(self):
        """The seconds until now. Calls that follow soon look at the machine once."""
        now = self.now()
        if now - self.at >= INTERVAL_S:
            machine = self.read()
            self.seconds += (now - self.at) * share(self.before, machine)
            self.at, self.before = now, machine
        return self.seconds


def share(before, after):
    """Which share of the CPUs' time we could have between two readings of the machine."""
    if not before or not after or after[0] <= before[0]:
        return 1.0
    all_, idle, ours = (b - a for a, b in zip(before, after))
    return min(1.0, max(1 / STRETCH, (idle + ours) / all_))
