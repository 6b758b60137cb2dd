#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test/soak.py [SECONDS [SEED [PERIOD]]], as root: a graph between two hosts forwards
pings for so long (900 s) while it changes every second, or PERIOD seconds (soak.lua),
`perigee top` is attached, peers in shared memory are killed, an interface goes down and
up, and configurations are refused. None of the pings may be lost, every packet is
accounted for, and memory, descriptors, threads, mappings, shared memory and run folders
stay as they were. The exit status is 1 if not."""

import contextlib
import os
import pathlib
import pty
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from helpers.capture import save
from helpers.command import PERIGEE, ROOT, running, wait_until
from helpers.network import Namespace, veth
from helpers.pings import Pings
from helpers.report import account

SCRIPT = ROOT / "test" / "soak.lua"
PING_S = 5  # of pings at a time
WARM_UP = 4  # samples that aren't compared: each kind of change comes once
# kB by which memory may grow: LuaJIT's code (doc/jit.md) and traces, and rare paths. It
# grows so far within the first minute, and then no more.
CODE_KB, CODE_KB_A_CHANGE = 6144, 4
HEAP_KB = 4096
PORTS_PACKETS = 128  # that two packet ports have at hand: between 0 and 64 each
PASSING_FILES = 1  # that is open just now: a worker that starts reads its modules
LATE = "/cycles/"  # counters that are made when cycles are first sampled, and kept
MOST_LEFT = 3  # folders of peers that were killed last: the next process removes them


def files_below(folder):
    return {f"{path.removeprefix(str(folder))}/{name}" for path, _, files in os.walk(folder)
            if LATE not in path + "/" for name in files}


def descriptors(pid):
    """How many are open, but for one: the engine makes it when it first sleeps."""
    folder = f"/proc/{pid}/fd"
    kinds = []
    for fd in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            kinds.append(os.readlink(f"{folder}/{fd}"))
    return len(kinds) - ("anon_inode:[eventpoll]" in kinds)


def sample(pid, shm):
    """What the process has, of the kernel's and on disk."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        lines = dict(line.split(":", 1) for line in status)
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
        # LuaJIT's heap and code come in pieces of their own.
        named = sum(1 for line in maps if len(line.split()) > 5 and LATE not in line)
    folders = [name for place in ("/run/dpdk", "/tmp/dpdk") if os.path.isdir(place)
               for name in os.listdir(place) if name.startswith(f"perigee-{pid}-")]
    return {"resident kB": int(lines["VmRSS"].split()[0]),
            "descriptors": descriptors(pid),
            "threads": int(lines["Threads"]), "mappings of files": named,
            "files in shared memory": len(files_below(shm / str(pid))),
            "run folders": len(folders)}


class Beside(threading.Thread):
    """Something that is done over and over until `stop` is set; an error of it is kept."""

    def __init__(self, stop, what):
        super().__init__(daemon=True)
        self.stop, self.what, self.times, self.error = stop, what, 0, None

    def run(self):
        try:
            while not self.stop.is_set():
                self.what()
                self.times += 1
        except Exception as error:  # told by the main thread
            self.error = error


class Soak:
    """The hosts `a` and `b`, the graph between them, and what is done to it."""

    def __init__(self, make, folder, shm, seed, period):
        self.a, self.middle, self.b = make("a"), make("m"), make("b")
        self.folder, self.rng = folder, random.Random(seed)
        self.stop, self.lost, self.sent = threading.Event(), 0, 0
        self.files = []  # in shared memory, of each sample
        self.shm = shm
        self.environment = {**os.environ, "SNABB_SHM_ROOT": str(self.shm)}
        for host, iface, address in (self.a, "left", 1), (self.b, "right", 2):
            veth(self.middle, iface, host, "net")
            host.ip("address", "add", f"10.0.0.{address}/24", "dev", "net")
        veth(self.middle, "spare", self.b, "spare-peer")
        save(folder / "in.pcap", [bytes([n]) * 200 for n in range(200)] * 20)
        self.command = self.middle.command(
            PERIGEE, "run", SCRIPT, "packet:left", "packet:right", "packet:spare", folder,
            str(seed), str(period))
        self.period = period

    def ping(self):
        with Pings(self.a, "10.0.0.2", int(PING_S / 0.005), interval=0.005) as pings:
            pass
        self.sent += pings.sent
        self.lost += len(pings.lost) + pings.twice

    def peer(self):
        """A peer of one of its sockets, killed at any moment."""
        port = self.rng.choice([f"memif:{self.folder}/memif", f"virtio-user:{self.folder}/host",
                                f"vhost:{self.folder}/guest,client=1"])
        words = [PERIGEE, "capture", port, self.folder / "peer.pcap"]
        with running(*words, env=self.environment) as peer:
            peer.runs_for(self.rng.uniform(0.1, 1.5))

    def go_down_and_up(self):
        for state in "down", "up":
            self.middle.ip("link", "set", "spare", state)
            self.stop.wait(self.rng.uniform(0.2, 3))

    @contextlib.contextmanager
    def top(self, pid):
        """`perigee top` on a terminal, for as long as that lasts."""
        ours, terminal = pty.openpty()
        top = subprocess.Popen([str(PERIGEE), "top", "-i", "500ms", str(pid)],
                               env=self.environment, stdin=terminal, stdout=terminal)
        os.close(terminal)
        watch = Beside(self.stop, lambda: os.read(ours, 65536))
        watch.start()
        try:
            yield top
        finally:
            top.kill()
            top.wait()
            watch.join()
            os.close(ours)

    def run(self, seconds, say):
        """The samples, and the account of the end."""
        samples = []
        with running(*self.command, env=self.environment) as program:
            wait_until(lambda: program.read() and self.a.run(
                "ping", "-n", "-c1", "-W5", "10.0.0.2").returncode == 0, "a first ping")
            others = [Beside(self.stop, what)
                      for what in (self.ping, self.peer, self.go_down_and_up)]
            with self.top(program.pid) as top:
                for other in others:
                    other.start()
                self.watch(program, time.monotonic() + seconds, samples, say)
                assert top.poll() is None, "top has ended"
                self.stop.set()
                for other in others:
                    other.join()
                    if other.error:
                        raise other.error
            assert program.interrupt() == 0, program.said[-3000:]
        return samples, program.said

    def watch(self, program, ends, samples, say):
        seen = 0
        while time.monotonic() < ends or len(samples) < 2 * WARM_UP:
            assert program.read(0.1), program.said[-3000:]
            found = list(re.finditer(r"^plain (\d+) (\d+) (\d+) (\d+)$", program.said, re.M))
            if len(found) > seen:
                seen = len(found)
                heap, used, size, flushes = map(int, found[-1].groups())
                now = sample(program.pid, self.shm)
                program.read()
                if "next" in program.said[found[-1].end():]:
                    continue  # it may be of another graph
                self.files.append(files_below(self.shm / str(program.pid)))
                samples.append({**now, "Lua's heap kB": heap,
                                "packets in use": used, "packets in all": size})
                if seen % 15 == 0 or seen == WARM_UP:
                    say(f"{seen * 4 * self.period:4.0f} s  " + "  ".join(
                        f"{name} {value}" for name, value in samples[-1].items())
                        + f"  flushes {flushes}  pings {self.sent}, lost {self.lost}",
                        flush=True)


def faults_of(samples):
    """What isn't as it was, as sentences."""
    middle = max(WARM_UP + 1, len(samples) // 2)
    early, late = samples[WARM_UP:middle], samples[middle:]
    if not early or not late:
        return [f"only {len(samples)} samples"]
    faults = []
    for name in samples[0]:
        before, now = [s[name] for s in early], [s[name] for s in late]
        slack = {"resident kB": CODE_KB + CODE_KB_A_CHANGE * 4 * len(samples),
                 "Lua's heap kB": HEAP_KB, "packets in use": PORTS_PACKETS,
                 "mappings of files": PASSING_FILES, "descriptors": PASSING_FILES}.get(name, 0)
        if statistics.median(now) > max(before) + slack:
            faults.append(f"{name}: up to {max(before)} in the first half, then "
                          f"{statistics.median(now)} (median)")
    return faults


def soak(seconds, seed, period=1.0, say=print):
    """Run it; the faults found, as sentences."""
    made = []

    def make(label):
        made.append(Namespace(label))
        return made[-1]
    with tempfile.TemporaryDirectory(prefix="perigee-soak-") as folder, \
            tempfile.TemporaryDirectory(prefix="perigee-soak-", dir="/dev/shm") as shm:
        try:
            it = Soak(make, pathlib.Path(folder), pathlib.Path(shm), seed, period)
            samples, said = it.run(seconds, say)
            left = os.listdir(shm)
        finally:
            for namespace in made:
                namespace.remove()
    a = account(said)  # raises if it isn't exact
    say(f"{said.count('changed') + len(samples)} changes, {said.count('refused')} times "
        f"refused; pings {it.sent}, lost {it.lost}\npackets: {a}", flush=True)
    faults = faults_of(samples)
    if any("files" in fault for fault in faults):
        early = set.union(*it.files[:len(samples) // 2])
        faults.append(f"new files: {sorted(it.files[-1] - early)}")
    if it.lost or not it.sent:
        faults.append(f"{it.lost} of {it.sent} pings lost")
    if a["held by apps"]:
        faults.append(f"apps hold {a['held by apps']} packets")
    if "traceback" in said:
        faults.append("a traceback: " + said[-2000:])
    if sum(name.isdigit() for name in left) > MOST_LEFT:
        faults.append(f"shared memory is left: {left}")
    return faults


def main(seconds="900", seed=None, period="1"):
    seed = int(seed) if seed is not None else random.randrange(2**31)
    print(f"seed {seed}, {seconds} s, a change every {period} s", flush=True)
    faults = soak(float(seconds), seed, float(period))
    print("\n".join(faults) if faults else "all is as it was")
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) > 4 or os.geteuid() != 0:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
