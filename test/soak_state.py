#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test/soak_state.py [STEPS [SEED]], as root: a NAT that keeps its flows is killed, upgraded,
taken back, exchanged by `hotconfig`, started again on another number of CPUs, or replaced by a
standby, so many times (100), at random; processes that take part are killed meanwhile, two at a
time, too. After each step one process runs, a TCP connection goes on, all flows have the ports
that they had, all files can be read, and nothing is left of processes that have ended. The exit
status is 1 if not."""

import contextlib
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

from helpers.click_control import ask, connect
from helpers.command import PERIGEE, wait_until
from helpers.failover import NAT, OUTSIDE, pass_on
from kill_kept import used
from test_keep import Net

FLOWS = 20
PATIENCE_S = 90
TCP_ROUNDS = 3
MORE_DESCRIPTORS = 120  # than at first: tables before a hot swap go as garbage is collected


class Soak:
    """The NAT between two hosts, whoever runs it just now."""

    def __init__(self, stack, folder, chance):
        self.stack, self.folder, self.chance = stack, folder, chance
        self.environment = {**os.environ, "SNABB_SHM_ROOT": str(folder / "shm")}
        self.net, self.ports, self.mine = Net(stack), {}, []
        self.log = stack.enter_context(open(folder / "log", "ab"))
        self.start()
        self.connect()

    def words(self, *words):
        return self.net.nat.command(str(PERIGEE), *words)

    def spawn(self, *words):
        process = subprocess.Popen(self.words(*words), env=self.environment, stdout=self.log,
                                   stderr=self.log, stdin=subprocess.DEVNULL)
        self.mine.append(process)
        return process

    def start(self):
        cpus = self.chance.choice([[], ["--cpus", "0,1"]])
        return self.spawn("--keep", "nat", "--standby", "click", "-R", "-u",
                          str(self.folder / "socket"), "-e", NAT, *cpus, "--device",
                          "0=packet:in0", "--device", "1=packet:out0")

    def run(self, *words):
        for process in self.mine:
            process.poll()
        return subprocess.run(self.words(*words), env=self.environment, capture_output=True,
                              text=True, timeout=PATIENCE_S)

    def processes(self):
        """Those that run, and those that stand by: process ids."""
        said = self.run("ps").stdout
        lines = re.findall(r"^(\d+) +(click .*)$", said, re.M)
        waiting = [int(pid) for pid, line in lines if "standby of nat" in line]
        return [int(pid) for pid, _ in lines if int(pid) not in waiting], waiting

    def runner(self):
        def only():
            runs, _ = self.processes()
            return len(runs) == 1 and runs[0]
        return wait_until(only, lambda: f"one process: {self.run('ps').stdout}", PATIENCE_S)

    def connect(self):
        self.runner()
        with self.net.outside.entered():
            listener = self.stack.enter_context(socket.create_server((OUTSIDE, 0)))
            self.echo = self.stack.enter_context(socket.socket(socket.AF_INET,
                                                               socket.SOCK_DGRAM))
            self.echo.bind((OUTSIDE, 4001))
        with self.net.inside.entered():
            self.client = self.stack.enter_context(socket.socket())
            self.flows = [self.stack.enter_context(socket.socket(
                socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(FLOWS)]
        for one in self.client, self.echo, *self.flows:
            one.settimeout(PATIENCE_S)
        self.client.connect(listener.getsockname())
        self.server, _ = listener.accept()
        self.stack.enter_context(self.server)
        self.server.settimeout(PATIENCE_S)

    def exchange(self, n):
        """A datagram of the flow there and back; its port outside."""
        self.flows[n].settimeout(0.2)
        self.echo.settimeout(0.2)
        ends = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends:
            token = os.urandom(8)
            self.flows[n].sendto(token, (OUTSIDE, 4001))
            with contextlib.suppress(TimeoutError):
                said = b""
                while said != token:
                    said, address = self.echo.recvfrom(100)
                self.echo.sendto(token, address)
                while self.flows[n].recv(100) != token:
                    pass
                return address[1]
        raise AssertionError(f"no answer to flow {n}")

    # Steps ----------------------------------------------------------------------------

    def kill(self, pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def pause(self, most):
        time.sleep(self.chance.random() ** 2 * most)

    def killed_and_started(self):
        self.kill(self.runner())
        self.pause(0.3)
        self.start()

    def ended_and_started(self):
        pid = self.runner()
        os.kill(pid, self.chance.choice([signal.SIGTERM, signal.SIGINT]))
        self.start()

    def replaced_by_a_standby(self):
        pid = self.runner()
        self.start()
        wait_until(lambda: self.processes()[1], "a standby", PATIENCE_S)
        self.kill(pid)

    def standby_killed(self):
        before = self.runner()
        standby = self.start()
        self.pause(1.5)
        self.kill(standby.pid)
        assert self.runner() == before

    def upgraded(self):
        words = self.chance.choice([["nat"], ["nat"], ["--back", "nat"]])
        self.spawn("upgrade", *words).wait(PATIENCE_S)

    def upgraded_with_kills(self):
        """One or two of the old one, the new one and the command are killed, but not both
        the old and the new one."""
        old = self.runner()
        command = self.spawn("upgrade", "nat")
        self.pause(2)
        runs, waiting = self.processes()
        new = [pid for pid in runs + waiting if pid != old]
        victims = {"command": [command.pid], "new": new, "old": [old],
                   "both": [command.pid, *new], "older": [command.pid, old]}
        what = self.chance.choice(list(victims))
        for pid in victims[what]:
            self.kill(pid)
        wait_until(lambda: all(used(pid) == float("inf") for pid in victims[what]),
                   "the end of those that were killed", PATIENCE_S)
        command.wait(PATIENCE_S)
        under_way = self.folder / "shm/keep/.nat.upgrade"
        wait_until(lambda: not under_way.exists(), "the upgrade's end", PATIENCE_S)
        if not sum(self.processes(), []):  # the upgrade was over, or no new one had begun
            self.start()
            return what + ", and started"
        return what

    def exchanged(self):
        control = connect(self.folder / "socket")
        control.readline()
        text = " ".join(line.split("//")[0] for line in NAT.splitlines())
        more = f"Idle -> c{self.chance.randrange(9)} :: Counter -> Discard;"
        answer = ask(control, f"WRITE hotconfig {text} {more}")
        assert answer[0].startswith("200"), answer
        control.close()

    # After each step ------------------------------------------------------------------

    def check(self):
        for n in range(FLOWS):
            port = self.exchange(n)
            assert self.ports.setdefault(n, port) == port, \
                f"flow {n} had port {self.ports[n]}, and has {port}"
        for _ in range(TCP_ROUNDS):
            pass_on(self.client, self.server, self)
            pass_on(self.server, self.client, self)
        pid = self.runner()
        wait_until(lambda: not self.left(pid), lambda: self.left(pid), PATIENCE_S)
        checked = self.run("keep", "check", "nat")
        assert checked.returncode == 0, checked.stdout + checked.stderr
        return {"descriptors": len(os.listdir(f"/proc/{pid}/fd")),
                "MB": int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(
                    f"/proc/{pid}/status").read_text())[1]) >> 10}

    def left(self, pid):
        """What is left of processes that have ended."""
        runs, waiting = self.processes()
        names = {path.name for path in (self.folder / "shm/keep").iterdir()}
        # (A socket of one that was killed goes when the next process begins.)
        bad = [one for one in names - {"nat", ".nat.before"}
               if not re.fullmatch(r"\.nat\.\d+\.passed", one)]
        folders = {int(path.name) for path in (self.folder / "shm").iterdir()
                   if path.name.isdigit()}
        dead = [one for one in folders if not os.path.exists(f"/proc/{one}")]
        return [*bad, *([f"folders of {dead}"] if len(dead) > 2 else []),
                *([f"{runs} run"] if runs != [pid] else []),
                *([f"{waiting} wait"] if waiting else [])]

    def read(self):
        """For pass_on()."""

    @property
    def said(self):
        return (self.folder / "log").read_text(errors="replace")[-3000:]

    def turn(self):
        step = self.chance.choice([
            self.killed_and_started, self.ended_and_started, self.replaced_by_a_standby,
            self.standby_killed, self.upgraded, self.upgraded_with_kills,
            self.upgraded_with_kills, self.exchanged])
        self.last = step.__name__
        self.last = f"{step.__name__} {step() or ''}"
        return self.check()

    def end(self):
        for pid in sum(self.processes(), []):
            self.kill(pid)
        for process in self.mine:
            process.kill()
            process.wait()


def main(steps="100", seed=None):
    seed = int(seed) if seed is not None else random.randrange(2**31)
    print(f"seed {seed}", flush=True)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory(dir="/dev/shm", prefix="soak-state-")))
        soak = Soak(stack, folder, random.Random(seed))
        stack.callback(soak.end)
        first = soak.check()
        for n in range(int(steps)):
            try:
                now = soak.turn()
            except Exception as problem:  # told with the seed
                print(f"seed {seed}, step {n}, {soak.last}: {problem!r}\n{soak.said}")
                return 1
            print(f"{n}: {soak.last}: {now}", flush=True)
            if now["descriptors"] > first["descriptors"] + MORE_DESCRIPTORS:
                print(f"{now['descriptors']} descriptors, {first['descriptors']} at first")
                return 1
    print("all is as it was")
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 3 or os.geteuid() != 0:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
