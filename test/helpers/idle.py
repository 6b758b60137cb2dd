# SPDX-License-Identifier: Apache-2.0
"""What a process takes of the CPU, and how often it wakes up (proc(5))."""

import contextlib
import os
import time

MOST_WAKEUPS = 10       # a second


def cpu_seconds(pid):
    """Of all threads."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def wakeups(pid):
    """How often the main thread has slept of its own accord."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status
                    if line.startswith("voluntary_ctxt_switches"))


def is_settled(pid):
    """Does the engine sleep for as long as it can, so that few wake-ups come a second?"""
    before = wakeups(pid)
    time.sleep(0.5)
    return wakeups(pid) - before <= MOST_WAKEUPS


@contextlib.contextmanager
def one_cpu():
    """What is started shares one CPU: whoever wants it has a like share. This process
    isn't kept to it: it would wait there for what those do that it reaps."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
