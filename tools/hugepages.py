# SPDX-License-Identifier: Apache-2.0
"""Snabb's binary reserves hugepages as it needs them, mounts a hugetlbfs for them, and
leaves both behind."""
import contextlib
import os
import pathlib
import subprocess

RESERVED = pathlib.Path("/proc/sys/vm/nr_hugepages")


def mounted():
    """Where there is a hugetlbfs."""
    lines = pathlib.Path("/proc/self/mounts").read_text().splitlines()
    return [point for _, point, kind, *_ in map(str.split, lines) if kind == "hugetlbfs"]


@contextlib.contextmanager
def given_back():
    """Leave as many hugepages reserved as there were before, and no other hugetlbfs. Where
    their number can't be written, as in containers, nobody has changed it."""
    before = RESERVED.read_text() if os.access(RESERVED, os.W_OK) else None
    points = mounted()
    try:
        yield
    finally:
        if before is not None:
            RESERVED.write_text(before)
        for point in mounted():
            if point not in points:
                subprocess.run(["umount", point], check=False)
