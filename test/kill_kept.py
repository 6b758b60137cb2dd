#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test/kill_kept.py [KILLS [SEED]]: processes that keep flows (--keep) are killed with -9 at
so many random moments (1,000): while they start, take over, pass packets, and while another
one stands by or upgrades them. After each, `perigee keep check` must read all files, no
record may be half written, and no flow be lost. The exit status is 1 if not."""

import collections
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from helpers.capture import save
from helpers.command import PERIGEE

SOURCE = """FastUDPFlows(0, -1, 60, 2:2:2:2:2:2, 10.0.0.1, 3:3:3:3:3:3, 10.0.0.2, 50000, 3)
  -> Strip(14) -> CheckIPHeader -> """
REWRITER = SOURCE + """nat :: IPRewriter(pattern 192.0.2.1-192.0.2.9 1024-65535 - - 0 1, drop,
  MAPPING_CAPACITY %d, UDP_TIMEOUT 86400, UDP_STREAMING_TIMEOUT 86400);
nat[0] -> Discard; nat[1] -> Discard; Idle -> [1] nat;"""
MANAGER = SOURCE + """m :: FlowIPManager(%d, TIMEOUT 86400, VERBOSE 0)
  -> FlowIPLoadBalancer(DST 7.0.0.1, DST 7.0.0.2, VIP 9.9.9.9) -> FlowCounter -> Discard;"""
SWITCH = """s :: EtherSwitch(TIMEOUT 86400); FromDPDKDevice(0) -> SetTimestamp -> s
  -> Discard;
Idle -> [1] s; s[1] -> Discard; // %d"""
STATIONS = 30000
CAPACITIES = {"rewriter": (3000, 60000, 300000), "manager": (4096, 65536, 262144),
              "switch": (STATIONS,)}
TEXTS = {"rewriter": REWRITER, "manager": MANAGER, "switch": SWITCH}
KILLS_OF_A_NAME = 20  # then it is removed, and another one begins
PATIENCE_S = 60
# What a process may say of records that it doesn't use.
FAIR = r"(?:\d+ (?:that are there twice|above the capacity)(?:, )?)+"
FILE = re.compile(r"^(.*?)(?: former \d+)?: (\d+) records of", re.M)


class Machine:
    """One name at a time, in a folder of its own for shared memory."""

    def __init__(self, folder, chance):
        self.folder, self.chance, self.number = folder, chance, 0
        self.environment = {**os.environ, "SNABB_SHM_ROOT": str(folder / "shm")}
        self.seen = collections.Counter()
        save(folder / "stations.pcap", [
            b"\xff" * 6 + b"\2\0" + n.to_bytes(4, "big") + b"\x88\xb5" + bytes(46)
            for n in range(STATIONS)])
        self.begin()

    def begin(self):
        """Another name, with nothing kept yet."""
        self.number += 1
        self.kind = self.chance.choice(list(TEXTS))
        self.capacity = self.chance.choice(CAPACITIES[self.kind])
        self.name, self.least = f"{self.kind}-{self.number}", 0
        text = self.folder / "router.click"
        text.write_text(TEXTS[self.kind] % self.capacity)
        self.command = [PERIGEE, "--keep", self.name, "--standby", "click", text]
        if self.kind == "switch":
            self.command += ["--device", f"0=pcap:rx={self.folder}/stations.pcap,loop=0"]

    def start(self, *command):
        return subprocess.Popen([str(word) for word in command or self.command],
                                env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=self.log, stderr=self.log)

    def said(self):
        return (self.folder / "log").read_text(errors="replace")

    def processes(self):
        """All that use this shared memory, those that an upgrade has started, too."""
        mark = f"SNABB_SHM_ROOT={self.folder}/shm".encode()
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                variables = pathlib.Path("/proc", pid, "environ").read_bytes().split(b"\0")
                if mark in variables and int(pid) != os.getpid():
                    found.append(int(pid))
        return found

    def work(self, pid, most):
        """Let the process use a random part of so many seconds of CPU time."""
        ends, want = time.monotonic() + PATIENCE_S, used(pid) + self.chance.random() * most
        while used(pid) < want and time.monotonic() < ends:
            time.sleep(0.002)

    def plain(self):
        self.work(self.start().pid, 1.2)

    def standby(self):
        """One is killed, and then the one that takes over."""
        first = self.start()
        self.work(first.pid, 1.0)
        second = self.start()
        self.wait_for("stands by for", second)
        kill(first.pid)
        first.wait()
        self.work(second.pid, 0.4)

    def upgrade(self):
        """One or the other is killed while an upgrade is under way, then both."""
        first = self.start()
        self.work(first.pid, 0.8)
        upgrade = self.start(PERIGEE, "upgrade", self.name)
        self.work(first.pid, 0.6)
        others = [pid for pid in self.processes() if pid != upgrade.pid]
        if others:
            kill(self.chance.choice(others))
        time.sleep(self.chance.random() * 0.3)

    def wait_for(self, text, process):
        ends = time.monotonic() + PATIENCE_S
        while text not in self.said() and process.poll() is None \
                and time.monotonic() < ends:
            time.sleep(0.005)

    def turn(self):
        """One kill; what is wrong, a list of texts."""
        how = self.chance.choice([self.plain, self.plain, self.standby, self.upgrade])
        with open(self.folder / "log", "w") as self.log:
            how()
            while left := self.processes():
                for pid in left:
                    kill(pid)
                with contextlib.suppress(ChildProcessError):
                    while os.waitpid(-1, os.WNOHANG)[0]:
                        pass
        self.seen[how.__name__] += 1
        return [f"{how.__name__}, {self.kind} of {self.capacity}: {problem}"
                for problem in self.judge()]

    def judge(self):
        said, problems = self.said(), []
        self.seen["began to take over"] += "goes on, and checks" in said
        self.seen["took all over"] += "goes on with" in said
        for reasons in re.findall(r"; not used: (.*)", said):
            if not re.fullmatch(FAIR, reasons):
                problems.append(f"records weren't used: {reasons}")
        if "isn't used" in said or "isn't kept" in said or "PANIC" in said:
            problems.append(said)
        result = subprocess.run([str(PERIGEE), "keep", "check", self.name],
                                env=self.environment, capture_output=True, text=True)
        if result.returncode and "nothing is kept" not in result.stderr:
            problems.append(f"{result.stdout}{result.stderr}")
        return problems + self.count(result.stdout, said)

    def count(self, files, said):
        """No flow is lost: of several files a flow may be in two, of one in that alone."""
        found = FILE.findall(files)
        total = sum(int(n) for _, n in found)
        self.seen["left a former file"] += " former " in files
        least, self.least = self.least, total if len(found) == 1 else 0
        if total < least and "above the capacity" not in said:
            return [f"{least} flows were kept, and {total} are: {files}{said}"]
        return []


def used(pid):
    """Seconds of CPU time; for ever, once it has ended."""
    try:
        words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return float("inf")
    if words[0] == "Z":
        return float("inf")
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def main(kills=1000, seed=None):
    seed = seed if seed is not None else random.randrange(2**31)
    folder, bad = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm", prefix="kill-kept-")), 0
    try:
        machine = Machine(folder, random.Random(seed))
        for n in range(1, kills + 1):
            problems = machine.turn()
            bad += len(problems)
            for problem in problems:
                print(f"seed {seed}, kill {n}: {problem}", flush=True)
            if n % KILLS_OF_A_NAME == 0:
                shutil.rmtree(folder / "shm/keep" / machine.name, ignore_errors=True)
                machine.begin()
                print(f"{n} kills, {bad} faults: " + ", ".join(
                    f"{count} {what}" for what, count in machine.seen.items()), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
