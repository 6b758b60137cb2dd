# SPDX-License-Identifier: Apache-2.0
"""Upgrades with memif ports whose peer, or whose old process, lies."""

import contextlib
import os
import pathlib
import random
import socket
import struct

import pytest

from helpers.command import PERIGEE, running, wait_until
from helpers.memif_peer import (
    BUFFERS_AT, SIZE, End, Gone, Ring, connected, listening, memory)
from test_keep import environment  # noqa: F401 (a fixture)
from test_upgrade import ended
from test_upgrade_memif import ECHO, Flow, upgraded


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
