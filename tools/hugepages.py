# SPDX-License-Identifier: Apache-2.0
"""Snabb's binary reserves hugepages as it needs them, mounts a hugetlbfs for them, and
leaves both behind."""
import contextlib
import pathlib
import subprocess

RESERVED = pathlib.Path("/proc/sys/vm/nr_hugepages")


def mounted():
    """Where there is a hugetlbfs."""
    lines = pathlib.Path("/proc/self/mounts").read_text().splitlines()
    return [point for _, point, kind, *_ in map(str.split, lines) if kind == "hugetlbfs"]


@contextlib.contextmanager
def given_back():
    """Leave as many hugepages reserved as there were before, and no other hugetlbfs."""
    before, points = RESERVED.read_text(), mounted()
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError):
            RESERVED.write_text(before)
        for point in mounted():
            if point not in points:
                subprocess.run(["umount", point], check=False)
