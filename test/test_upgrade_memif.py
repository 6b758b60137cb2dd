# SPDX-License-Identifier: Apache-2.0
"""`perigee upgrade` passes memif's sessions on: the peer, Perigee's or DPDK's,
notices nothing, and numbered packets come each once, in order."""

import contextlib
import os
import pathlib
import random
import re
import signal
import struct
import time

import pytest

from helpers.command import PERIGEE, run, running, wait_until
from helpers.network import Namespace, Wire, veth
from test_keep import environment  # noqa: F401 (a fixture)
from test_memif import echo_of_dpdk
from test_upgrade import OVER, ended

HEADER = b"\x02" * 12 + b"\x88\xb5"
WINDOW = 100  # packets on their way
PAUSE_S = 0.001
BRIDGE = "FromDPDKDevice(0) -> ToDPDKDevice(1); FromDPDKDevice(1) -> ToDPDKDevice(0)"
ECHO = "FromDPDKDevice(0) -> Queue(1000) -> ToDPDKDevice(0)"


class Flow:
    """Numbered frames, `WINDOW` of them on their way at most; `came`: those that are back."""

    def __init__(self, put, get):
        self.put, self.get, self.sent, self.came = put, get, 0, []
        self.window, self.head = WINDOW, HEADER + os.urandom(8)  # not those of another one

    def exchange(self):
        if self.sent - (self.came[-1] + 1 if self.came else 0) < self.window:
            self.put(self.head + struct.pack("!I", self.sent) + bytes(34))
            self.sent += 1
        for frame in self.get():
            if frame.startswith(self.head):
                self.came.append(struct.unpack_from("!I", frame, len(self.head))[0])
        return True

    def until_back(self, what):
        """Until one that is sent from now on is back."""
        first = self.sent
        wait_until(lambda: self.exchange() and self.came and self.came[-1] >= first, what)

    def while_runs(self, process, what):
        wait_until(lambda: self.exchange() and process.process.poll() is not None, what)
        process.read()


def upgraded(flow, env, said, *words):
    """The number of the process that has taken over while frames passed."""
    with running(PERIGEE, "upgrade", *words, env=env) as process:
        flow.while_runs(process, lambda: process.said + said())
        assert process.process.returncode == 0, process.said + said()
        new = int(OVER.search(process.said)[1])
    flow.until_back(lambda: (flow.came[-3:], flow.sent, said()))
    return new


def on_a_wire(wire):
    def get():
        while frame := wire.receive(0.000001):
            yield frame
    return Flow(wire.send, get)


@contextlib.contextmanager
def bridged(env, port, *options):
    """A bridge named "m" between a wire and the memif port."""
    with contextlib.ExitStack() as stack:
        spaces = [Namespace(name) for name in ("out", "in")]
        for space in spaces:
            stack.callback(space.remove)
        here, there = spaces
        veth(here, "eth0", there, "in0", offloads=False)
        stack.enter_context(ended(env))
        router = stack.enter_context(running(*there.command(
            PERIGEE, "--keep", "m", *options, "click", "-e", BRIDGE, "--device",
            "0=packet:in0", "--device", f"1={port}"), env=env))
        router.flow = on_a_wire(stack.enter_context(Wire(here, "eth0")))
        yield router


@contextlib.contextmanager
def echo_of_perigee(role, path):
    with running(PERIGEE, "click", "-e", ECHO, "--device",
                 f"0=memif:{path},role={role}") as echo:
        yield echo


PEERS = {
    "perigee, client": (echo_of_perigee, "client"),
    "perigee, server": (echo_of_perigee, "server"),
    "dpdk, client": (echo_of_dpdk, "client"),
    "dpdk, server": (echo_of_dpdk, "server"),
}


def other(role):
    return "server" if role == "client" else "client"


def links_of(peer):
    """A process's connections by Unix sockets: they are others once it has connected anew."""
    fds = pathlib.Path(f"/proc/{peer.pid}/fd")
    return {os.readlink(fd) for fd in fds.iterdir() if "socket:" in os.readlink(fd)}


WORKERS = ["--cpus", "0,1"]


@pytest.mark.parametrize("name, options", [
    *[pytest.param(name, [], id=name) for name in PEERS],
    *[pytest.param(name, WORKERS, id=f"{name}, workers")
      for name in ("perigee, client", "dpdk, client")]])  # DPDK's server takes one queue
def test_each_comes_once_in_order(name, options, environment, tmp_path):  # noqa: F811
    kind, role = PEERS[name]
    path = tmp_path / "socket"
    if len(os.sched_getaffinity(0)) < 2 and options:
        pytest.skip("one CPU")
    with contextlib.ExitStack() as stack:
        if role == "server":
            peer = stack.enter_context(kind(role, path))
            wait_until(lambda: peer.read() and path.exists(), "the socket")
        router = stack.enter_context(bridged(
            environment, f"memif:{path},role={other(role)}", *options))
        router.wait_for_engine()
        if role == "client":
            peer = stack.enter_context(kind(role, path))

        def said():
            return router.read() and router.said + (peer.read() and peer.said)
        router.flow.until_back(said)
        links, inode = links_of(peer), path.stat().st_ino
        for words in (["m"], ["--back", "m"]):
            upgraded(router.flow, environment, said, *words)
        came = router.flow.came
        assert came == list(range(came[-1] + 1))
        assert links_of(peer) == links and path.stat().st_ino == inode



@pytest.mark.parametrize("victim", ["old", "new"])
def test_one_is_killed_in_the_middle(victim, environment, tmp_path):  # noqa: F811
    """The old one at any moment, the new one until it is ready: the peer connects again, and
    frames pass, none twice."""
    path, dice = tmp_path / "socket", random.Random(7)
    with contextlib.ExitStack() as stack:
        router = stack.enter_context(bridged(environment, f"memif:{path},role=server"))
        router.wait_for_engine()
        peer = stack.enter_context(echo_of_perigee("client", path))
        flow = router.flow

        def said():
            return router.read() and router.said + (peer.read() and peer.said)
        flow.until_back(said)
        flow.window = float("inf")
        for _ in range(3):
            with running(PERIGEE, "upgrade", "m", env=environment) as process:
                children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
                [new] = wait_until(lambda: flow.exchange() and children.read_text().split(),
                                   "the new process")
                pid = int(new) if victim == "new" else owner(environment)
                end = time.monotonic() + dice.uniform(0, 0.8)

                def serves():
                    return victim == "new" and process.read() and "stands by" in process.said
                while time.monotonic() < end and process.process.poll() is None and not serves():
                    flow.exchange()
                    time.sleep(PAUSE_S)
                if not serves() and process.process.poll() is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                flow.while_runs(process, said)
            flow.until_back(lambda: process.said + said())
        assert flow.came == sorted(set(flow.came))


def owner(env):
    """The process that has the name, while no other one stands by."""
    return int(re.search(r"^(\d+) +click((?!standby).)*$", run(PERIGEE, "ps", env=env).stdout,
                         re.M)[1])
