# SPDX-License-Identifier: Apache-2.0
"""`perigee upgrade` passes memif's sessions on: the peer, Perigee's or DPDK's or one that is
looked at byte by byte, notices nothing, and numbered packets come each once, in order."""

import contextlib
import os
import pathlib
import random
import re
import signal
import socket
import struct
import time

import pytest

from helpers.command import PERIGEE, run, running, wait_until
from helpers.memif_peer import (
    BUFFERS_AT, SIZE, End, Gone, Ring, connected, listening, memory)
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


# A process of Perigee's and a peer byte by byte -----------------------------------------

@contextlib.contextmanager
def echoing(env, path, role="server", *options):
    with ended(env), running(PERIGEE, "--keep", "m", *options, "click", "-e", ECHO, "--device",
                             f"0=memif:{path},role={role}", env=env) as process:
        yield process


def by_rings(peer):
    """Frames that are put into the peer's ring, and come back by the other one."""
    at = peer.receive.tail
    peer.give()

    def put(frame):
        wait_until(lambda: (peer.send.head - peer.send.tail) % (1 << 16) < SIZE, "room")
        peer.offer(frame)

    def get():
        nonlocal at
        while at != peer.receive.tail:
            _, _, length, offset, _ = peer.receive.read(at)
            yield peer.memory[offset:offset + length]
            at = (at + 1) % (1 << 16)
            peer.give(1)
    return Flow(put, get)


def beyond(peer):
    """A packet where no region is."""
    peer.send.write(peer.send.head, 60, 0, region=9)
    peer.send.head += 1


def cut(peer):
    """The file behind a packet is cut."""
    peer.send.write(peer.send.head, 60, BUFFERS_AT)
    os.ftruncate(peer.file, 4096)
    peer.send.head += 1


def run_ahead(peer):
    peer.send.head += SIZE + 1


LIES = {"ring_cursor": run_ahead, "region_cut": cut, "descriptor_region": beyond,
        "message_order": lambda peer: peer.init()}


def test_a_peer_lies_to_the_next_process(environment, tmp_path):  # noqa: F811
    """It is believed no more than by the first one."""
    path = tmp_path / "socket"
    with echoing(environment, path) as old:
        old.wait_for_engine()

        def said():
            return old.read() and old.said
        for reason, lie in LIES.items():
            with connected(path, seals=0) as peer:
                peer.start()
                flow = by_rings(peer)
                flow.until_back(said)
                upgraded(flow, environment, said, "m")
                assert flow.came == list(range(flow.came[-1] + 1))
                assert peer.is_served()
                lie(peer)
                with pytest.raises(Gone) as gone:
                    peer.hear()
                assert gone.value.reason.startswith(reason)


def accepted(path):
    """Both ends of a connection to a socket of that path, which another process serves."""
    other = path.with_name("away")
    path.rename(other)
    with listening(path) as listener, socket.socket(
            socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.connect(str(path))
        server = listener.accept()[0]
        ends = server, client.dup()
    other.replace(path)
    return ends


def test_the_old_one_lies(environment, tmp_path):  # noqa: F811
    """Another process of this user's passes what is no socket of memif's and no session: none
    is used, and peers are served after the takeover."""
    path = tmp_path / "socket"
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(echoing(environment, path))
        first.wait_for_engine()
        second = stack.enter_context(echoing(environment, path, "server", "--standby"))
        second.wait_for("stands by for")
        [passed] = pathlib.Path(environment["SNABB_SHM_ROOT"], "keep").glob(".m.*.passed")
        lie, last = (stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
                     for _ in range(2))
        for connection in lie, last:
            connection.connect(str(passed))
            connection.setblocking(False)
        (file, empty), (rings, mapping) = memory(1 << 20), memory(1 << 20)
        for end in (empty.close, mapping.close):
            stack.callback(end)
        for fd in (file, rings):
            stack.callback(os.close, fd)
        bell = os.eventfd(0)
        stack.callback(os.close, bell)
        stranger = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        listener.bind(str(tmp_path / "other"))
        listener.listen()
        server, client = map(stack.enter_context, accepted(path))
        told = 0
        for inode in (path.stat().st_ino, (tmp_path / "other").stat().st_ino, 0):
            for name in (str(path), str(tmp_path / "other"), "x" * 108, ""):
                body = struct.pack("=I108s4xQ", 0x50470003, name.encode(), inode)
                for fds in ([listener.fileno()], [stranger.fileno()], [bell], [file] * 3):
                    told += send(lie, [body, body[:-1]], fds)
        dice, good = random.Random(1), [server.fileno(), file, bell, bell]
        for fds in (good, good[:1], [client.fileno(), *good[1:]], [file] * 4, [bell] * 64,
                    [server.fileno(), bell, bell, bell], [server.fileno(), file, file, file]):
            for _ in range(20):
                told += send(lie, [session(dice, path)], fds)
        assert told > 100
        for at in 0, 8192:  # only the cursors lie
            Ring(mapping, at, 256).clear()
        assert send(last, [session(None, path, tail=5)], [server.fileno(), rings, bell, bell])
        assert first.interrupt() == 0
        second.wait_for("took over in")
        with pytest.raises(Gone, match="ring_cursor"):
            End(client).hear()
        with connected(path) as honest:
            flow = by_rings(honest.start())
            flow.until_back(lambda: second.read() and second.said)
            assert flow.came == list(range(flow.came[-1] + 1))
        wait_until(lambda: not passed.exists(), "its end")
        assert (tmp_path / "other").exists()

        def files():
            return [os.readlink(f) for f in pathlib.Path(f"/proc/{second.pid}/fd").iterdir()]
        wait_until(lambda: not [f for f in files() if "/memfd:peer" in f], files)
        assert second.interrupt() == 0


def send(lie, texts, fds):
    """How many of the messages went."""
    told = 0
    for text in texts:
        with contextlib.suppress(BlockingIOError):
            told += socket.send_fds(lie, [text], fds) > 0
    return told


def session(dice, path, tail=0):
    """What src/port/memif/passed.h calls a session, some of whose numbers are wrong (without
    dice: none, but for cursors)."""
    def odd(good, *others):
        return dice.choice([good] * 12 + [*others, 0, 2**32 - 1]) if dice else good
    rings = b"".join(struct.pack(
        "=HHHBxI", odd(0) % 65536, odd(tail) % 65536, odd(0, 1) % 65536, odd(8, 14, 15) % 256,
        odd(8192 * (n // 16), 1, 1 << 20)) for n in range(32))
    counts = [odd(1, 2, 16, 17, 256) % 65536 for _ in range(3)]
    return struct.pack("=I108sIIHBB24s6s3H384s16Q", 0x50470004, str(path).encode(), odd(0),
                       odd(2048), odd(1) % 65536, odd(1) % 256, odd(10) % 256, b"", b"\2" * 6,
                       *counts, rings, odd(1 << 20, 4096, 2**64 - 1), *[0] * 15)


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
