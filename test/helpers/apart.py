# SPDX-License-Identifier: Apache-2.0
"""Tests that run side by side don't see each other: one fills the shared memory, another
lists all instances of Perigee, a third expects that nothing was left in a folder."""

import ctypes
import os
import subprocess

CLONE_NEWNS = 0x00020000  # <linux/sched.h>
FOLDERS = "/dev/shm", "/run/dpdk"


def below(folders):
    """Mounts below these folders, the last first."""
    with open("/proc/self/mounts") as mounts:
        points = [line.split()[1] for line in mounts]
    return [p for p in reversed(points) if p.startswith(tuple(f + "/" for f in folders))]


def leave():
    """Give this process, and those it starts, mounts of its own, with empty FOLDERS.
    Where that isn't allowed they stay what they are. What is mounted below them goes: it
    would be hidden, and DPDK doesn't start beside a hidden hugetlbfs, such as Snabb's."""
    if os.geteuid() != 0 or ctypes.CDLL(None).unshare(CLONE_NEWNS) != 0:
        return
    subprocess.run(["mount", "--make-rslave", "/"], check=True)
    for point in below(FOLDERS):
        subprocess.run(["umount", "-l", point], check=True)
    for folder in FOLDERS:
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tests", folder],
                       check=True)
