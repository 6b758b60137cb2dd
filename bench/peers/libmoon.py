# SPDX-License-Identifier: Apache-2.0
"""libmoon: a script that receives and sends back (bench/lua/libmoon.lua)."""
import os
import tempfile

from peers import process
from suite import measure

NAME = "libmoon"
HOW = "DIR/libmoon: a checkout of github.com/libmoon/libmoon after its build.sh"
SCRIPT = measure.ROOT / "bench" / "lua" / "libmoon.lua"
WORKS = {"ports": "forward", "swap": "swap"}


def find(folder):
    program = folder and folder / "libmoon/build/libmoon"
    return Libmoon(program) if program and program.is_file() else None


class Libmoon:
    works = dict.fromkeys(WORKS, (32, 256))

    def __init__(self, program):
        self.program = program

    def cycles(self, work, burst, seconds):
        cpu = max(os.sched_getaffinity(0))
        # The devices alone: its DPDK is an older one, with fewer options.
        words = ["--no-pci", "--file-prefix", "peer-%d" % os.getpid(),
                 "--vdev", process.NULL % 0]
        if "--no-huge" in measure.eal_arguments():
            words += ["--no-huge", "-m", "512"]
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
            file.write("DPDKConfig { cores = {%d}, cli = {%s} }\n" % (
                cpu, ", ".join('"%s"' % word for word in words)))
            file.flush()
            with process.running([self.program, SCRIPT, "--dpdk-config=" + file.name,
                                  WORKS[work], burst]) as running:
                return process.cycles(running, lambda: carried(running), seconds)


def carried(running):
    """What the script prints next: the packets that it has sent."""
    for line in running.stdout:
        if line.startswith("sent "):
            return int(line.split()[1])
    raise measure.Failed("libmoon ended with status %s" % running.wait())
