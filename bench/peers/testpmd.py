# SPDX-License-Identifier: Apache-2.0
"""DPDK's testpmd: a thread that receives from the port and sends to it."""
import os
import re
import shutil

from peers import process
from suite import measure

NAME = "testpmd"
HOW = "apt install dpdk-dev, or dpdk-testpmd in PATH"
MODES = {"ports": "io", "swap": "macswap"}


def find(_):
    program = shutil.which("dpdk-testpmd")
    return Testpmd(program) if program else None


class Testpmd:
    works = dict.fromkeys(MODES, (32, 256))

    def __init__(self, program):
        self.program = program

    def cycles(self, work, burst, seconds):
        # Both lcores on the CPU of this process: one waits for commands.
        lcores = "(0-1)@%d" % max(os.sched_getaffinity(0))
        with process.running([
                "stdbuf", "-oL", self.program, "--lcores", lcores, *process.eal_arguments(), "--", "-i",
                "--auto-start", "--forward-mode=" + MODES[work], "--burst=%d" % burst,
                "--total-num-mbufs=%d" % process.POOL, "--nb-cores=1",
                "--no-flush-rx"]) as running:
            return process.cycles(running, lambda: received(running), seconds)


def received(running):
    """Packets that its port has received."""
    running.stdin.write("show port stats 0\n")
    running.stdin.flush()
    for line in running.stdout:
        found = re.search(r"RX-packets: (\d+)", line)
        if found:
            return int(found.group(1))
    raise measure.Failed("testpmd ended with status %s" % running.wait())
