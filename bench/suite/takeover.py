# SPDX-License-Identifier: Apache-2.0
"""Milliseconds without a packet, as another process takes over two packet ports (as root)

Two hosts in namespaces, 1,000 numbered datagrams a second from one to the other, and a
process between them that is killed with -9 while another one stands by, or is upgraded.
The figure is the longest time between two datagrams that arrive. The reference is C's
least: it waits on a pidfd, opens two AF_PACKET sockets, and passes frames on. All take
turns. The last rows are datagrams that an upgrade loses, and that come twice.
"""
import contextlib
import os
import pathlib
import select
import signal
import socket
import struct
import sys
import tempfile
import threading
import time

from suite import measure

sys.path.insert(0, str(measure.ROOT / "test"))

from helpers.command import running, wait_until  # noqa: E402
from helpers.network import Namespace, veth  # noqa: E402

SO_RCVBUFFORCE = 33  # <asm-generic/socket.h>
PORT, INTERVAL_S, AFTER_S = 4000, 0.001, 1
BRIDGE = "FromDPDKDevice(0) -> ToDPDKDevice(1); FromDPDKDevice(1) -> ToDPDKDevice(0)"
NAT = measure.ROOT / "examples/click/nat.click"


class Hosts:
    """Two hosts and who is between them; a NAT's have networks of their own."""

    def __init__(self, stack, nat):
        made = [Namespace(name) for name in ("inside", "between", "outside")]
        for namespace in made:
            stack.callback(namespace.remove)
        self.inside, self.between, self.outside = made
        veth(self.inside, "eth0", self.between, "in0", offloads=False)
        veth(self.outside, "eth0", self.between, "out0", offloads=False)
        self.inside.ip("address", "add", "10.0.0.5/24", "dev", "eth0")
        self.to = "192.0.2.254" if nat else "10.0.0.6"
        self.outside.ip("address", "add", self.to + "/24", "dev", "eth0")
        if nat:
            self.inside.ip("route", "add", "default", "via", "10.0.0.1")


class Datagrams:
    """Numbered ones, from the inside out: `got` has when each came, and its number."""

    def __init__(self, hosts):
        with hosts.inside.entered():
            self.out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with hosts.outside.entered():
            self.come = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.come.bind((hosts.to, PORT))
        self.come.settimeout(0.2)
        # What waited comes at once: the default is room for 277.
        self.come.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        self.to, self.got, self.stop = (hosts.to, PORT), [], threading.Event()
        self.threads = [threading.Thread(target=f) for f in (self.send, self.receive)]
        for thread in self.threads:
            thread.start()

    def send(self):
        number = 0
        while not self.stop.wait(INTERVAL_S):
            with contextlib.suppress(OSError):
                self.out.sendto(struct.pack("!I", number), self.to)
            number += 1

    def receive(self):
        while not self.stop.is_set():
            with contextlib.suppress(TimeoutError):
                data = self.come.recv(100)
                self.got.append((time.monotonic(), struct.unpack("!I", data)[0]))

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        self.out.close()
        self.come.close()

    def during(self, change):
        """Milliseconds without a datagram around change(); how many of them were lost, and
        how many came twice."""
        first = max(0, len(self.got) - 1)
        change()
        time.sleep(AFTER_S)
        seen = self.got[first:]
        times, numbers = [at for at, _ in seen], [number for _, number in seen]
        if len(seen) < 2:
            raise measure.Failed("no datagram came within %g s" % AFTER_S)
        gap = max(later - before for before, later in zip(times, times[1:]))
        twice = len(numbers) - len(set(numbers))
        return 1e3 * gap, numbers[-1] - numbers[0] + 1 - len(set(numbers)), twice


class Pair:
    """A process that runs between the hosts, and how another one takes its place."""

    def __init__(self, stack, name, program, nat=False):
        self.stack, self.name, self.program = stack, name, program
        self.hosts = Hosts(stack, nat)
        self.runs = self.start()
        self.datagrams = Datagrams(self.hosts)
        stack.callback(self.datagrams.end)
        wait_until(lambda: self.datagrams.got, "a datagram")

    def start(self, old=None):
        """A process that runs, or stands by for the old one."""
        process = self.stack.enter_context(running(*self.hosts.between.command(
            measure.PERIGEE, "--keep", self.name, "--standby", "click", *self.program,
            "--device", "0=packet:in0", "--device", "1=packet:out0")))
        if old:
            process.wait_for("stands by for")
        else:
            process.wait_for_engine()
        return process

    def killed(self):
        old, self.runs = self.runs, self.start(self.runs)

        def kill():
            ended = os.pidfd_open(old.pid)
            old.send(signal.SIGKILL)
            select.select([ended], [], [])
            os.close(ended)
        return self.datagrams.during(kill)

    def upgraded(self):
        return self.datagrams.during(
            lambda: measure.command([measure.PERIGEE, "upgrade", self.name], 120))


class InC(Pair):
    def start(self, old=None):
        process = self.stack.enter_context(running(*self.hosts.between.command(
            measure.ROOT / "build/bench/takeover", "in0", "out0", *([old.pid] if old else []))))
        process.wait_for("ready" if old else "runs")
        return process


def end_upgraded(names):
    """What an upgrade has started isn't a child of this process."""
    for line in measure.command([measure.PERIGEE, "ps"], 20).splitlines():
        pid = line.split()[0] if line.split() else ""
        with contextlib.suppress(OSError):
            if pid.isdigit() and any(
                    name.encode() in pathlib.Path("/proc", pid, "cmdline").read_bytes()
                    for name in names):
                os.kill(int(pid), signal.SIGKILL)


def run(quick, rounds=None):
    if os.geteuid() != 0:
        raise measure.Failed("namespaces are root's to make")
    measure.build("takeover")
    rounds = rounds or (2 if quick else 20)
    found = {}
    with contextlib.ExitStack() as stack:
        shm = stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm"))
        os.environ["SNABB_SHM_ROOT"] = shm
        stack.callback(os.environ.pop, "SNABB_SHM_ROOT")
        name = "bench-%d-" % os.getpid()
        def pair(kind, what, made=Pair):
            program = [NAT] if what == "nat" else ["-e", BRIDGE]
            return made(stack, name + kind + what, program, what == "nat")
        # Who is killed is always this process's child; an upgrade starts others.
        turns = [("killed", "c", pair("killed", "c", InC).killed)]
        turns += [("killed", what, pair("killed", what).killed) for what in ("bridge", "nat")]
        turns += [("upgraded", what, pair("upgraded", what).upgraded)
                  for what in ("bridge", "nat")]
        stack.callback(end_upgraded, [name])
        for _ in range(rounds):
            for how, what, turn in turns:
                found.setdefault((how, what), []).append(turn())
    reference = [gap for gap, _, _ in found["killed", "c"]]
    rows = [measure.row("a %s is %s, ms" % (kind, how), [gap for gap, _, _ in each],
                        reference)
            for (how, kind), each in found.items() if kind != "c"]
    for (how, kind), each in found.items():
        if how == "upgraded":
            lost = [float(n) for _, n, _ in each]
            rows.append({"name": "a %s is upgraded, datagrams lost" % kind,
                         "cycles": sorted(lost)[len(lost) // 2], "min": min(lost),
                         "max": max(lost), "reference": None, "ratio": None, "limit": None,
                         "processes": len(lost)})
            if any(twice for _, _, twice in each):
                raise measure.Failed("datagrams came twice: %s" % [t for _, _, t in each])
    return rows
