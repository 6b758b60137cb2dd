# SPDX-License-Identifier: Apache-2.0
"""Graphs of apps (bench/lua/compare.lua) and `snabbmark basic1`, on Perigee or
Snabb."""
import contextlib
import os
import resource
import subprocess
import tempfile

from suite import measure

SCRIPT = measure.ROOT / "bench/lua/compare.lua"
FEW, MANY = 2_000_000, 42_000_000  # packets


@contextlib.contextmanager
def environment():
    """A tree of shared memory for a run, as both take it from the environment."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as root:
        yield {"SNABB_SHM_ROOT": root, "PATH": os.environ["PATH"]}


def run(command, timeout):
    """What the command prints; Failed with its words if it fails."""
    with environment() as env:
        done = subprocess.run([str(word) for word in command], env=env, text=True,
                              capture_output=True, timeout=timeout)
    if done.returncode != 0:
        raise measure.Failed("%s ended with status %d: %s" % (
            " ".join(map(str, command)), done.returncode, done.stderr.strip()))
    return done.stdout


def graph(command, kind, seconds):
    """CPU nanoseconds a packet of the graph `kind`."""
    text = run([*command, "snsh", SCRIPT, kind, seconds], 60)
    packets, cpu = map(float, text.splitlines()[-1].split())
    return cpu / packets * 1e9


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(command, 60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def basic1(command):
    """CPU nanoseconds a packet of `snabbmark basic1`: of a long run, less a short
    one's."""
    short, long = (cpu_seconds([*command, "snabbmark", "basic1", n])
                   for n in (FEW, MANY))
    return (long - short) / (MANY - FEW) * 1e9
