# SPDX-License-Identifier: Apache-2.0
"""memif peers that lie: each lie is counted by its name and its peer let go, while another
peer of the same socket loses nothing. PERIGEE_LONG=1: 100,000 random lies."""

import contextlib
import os
import pathlib
import random
import re
import sys
import tempfile
import time

import pytest

from helpers import memif_peer
from helpers.command import PERIGEE, ROOT, perigee, running, wait_until
from helpers.memif_peer import (
    BUFFER, BUFFERS_AT, NEXT, REGION_BYTES, SIZE, Gone, connected)
from helpers.report import account

LONG = bool(os.environ.get("PERIGEE_LONG"))
LIES, LIVES, TIMEOUT_S = (100_000, 400, 3600) if LONG else (3_000, 12, 300)
FIXED_SEED = 37
FRAME = bytes(range(64))


def running_server(tmp_path, *others):
    """Echoes at id 0, which a liar has, and at id 1."""
    path = tmp_path / "socket"
    return running(PERIGEE, "run", ROOT / "test" / "echoes.lua", f"memif:{path},role=server",
                   f"memif:{path},role=server,id=1", *others)


def exchange(peer, count=100):
    """Send frames, and wait until they have come back in their order. (Those that waited to
    be sent to a peer that was let go come first.)"""
    peer.give(SIZE - (peer.receive.head - peer.receive.tail) % (1 << 16))
    mark, at = os.urandom(8), peer.receive.tail
    frames = [mark + n.to_bytes(2, "big") + FRAME for n in range(count)]
    for frame in frames:
        peer.offer(frame)
    got = []

    def came():
        nonlocal at
        while at != peer.receive.tail:
            flags, region, length, offset, _ = peer.receive.read(at)
            frame = peer.memory[offset:offset + length]
            assert (flags, region) == (0, 0)
            got.extend([frame] if frame.startswith(mark) else [])
            at = (at + 1) % (1 << 16)
        return len(got) >= count
    wait_until(came, "the echo", timeout=20)
    assert got == frames


def events(said):
    """How many peers were let go, by name, in the report."""
    return {name: int(n.replace(",", ""))
            for n, name in re.findall(r"^ +([\d,]+) times: peer_(\w+)$", said, re.M)}


def offer(*descriptors, times=1, **options):
    """A lie: packets of these (length, offset, region, flags)."""
    def lie(peer):
        for i in range(times):
            for k, words in enumerate(descriptors):
                peer.send.write(i * len(descriptors) + k, *words)
        peer.send.head += options.get("head", times * len(descriptors))
    return lie


def vacate(length, place, region=0, count=SIZE):
    """A lie about buffers that are to be written to: the echo of good frames needs them."""
    def lie(peer):
        for i in range(count):
            peer.receive.write(i, length, place, region)
        peer.receive.head = count
        peer.offer(*[FRAME] * 10)
    return lie


# What is said once connected: the name that it is counted by, the lie, how it connects.
LIES_IN_RINGS = {
    "region 1, which isn't there": ("descriptor_region", offer((60, BUFFERS_AT, 1))),
    "region 65535": ("descriptor_region", offer((60, BUFFERS_AT, 65535), times=100)),
    "an offset of 4 GB - 16": ("descriptor_place", offer((60, 0xfffffff0))),
    "a byte beyond the region": ("descriptor_place", offer((60, REGION_BYTES - 59))),
    "the region's end": ("descriptor_place", offer((2000, REGION_BYTES - 8))),
    "a length of 4 GB - 1": ("descriptor_place", offer((0xffffffff, BUFFERS_AT))),
    "offset and length that overflow": ("descriptor_place", offer((0x80000000, 0x80000000))),
    "chained for ever": ("chain", offer((60, BUFFERS_AT, 0, NEXT), times=SIZE)),
    "a chain into nowhere": ("descriptor_place", offer((60, BUFFERS_AT, 0, NEXT),
                                                       (60, REGION_BYTES))),
    "a head of 65535": ("ring_cursor", offer((60, BUFFERS_AT), times=100, head=65535)),
    "a head one too far": ("ring_cursor", offer((60, BUFFERS_AT), head=SIZE + 1)),
    "a buffer beyond the region": ("descriptor_place", vacate(BUFFER, REGION_BYTES - 1)),
    "a buffer at 4 GB - 16": ("descriptor_place", vacate(BUFFER, 0xfffffff0)),
    "a buffer in region 7": ("descriptor_region", vacate(BUFFER, BUFFERS_AT, 7)),
    "buffers of no bytes": ("chain", vacate(0, BUFFERS_AT)),
    "more buffers than the ring has": (
        "ring_cursor", lambda peer: (setattr(peer.receive, "head", SIZE + 1),
                                     peer.offer(FRAME))),
    "a message, once connected": ("message_order", lambda peer: peer.init()),
    "nonsense": ("message_length", lambda peer: peer.socket.send(b"nonsense")),
    "too long a message": ("message_length",
                           lambda peer: peer.say(memif_peer.ACK, length=4000)),
    "a descriptor too many": ("message_files",
                              lambda peer: peer.say(memif_peer.ACK, files=[peer.file] * 20)),
}


@pytest.fixture(scope="module")
def server():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        with running_server(folder) as server:
            server.wait_for("echoing")
            server.folder, server.let_go = folder, {}
            with connected(folder / "socket") as honest:
                server.honest = honest.start(number=1)
                yield server
            assert server.interrupt() == 0, server.said
        a = account(server.said)
        assert a["received"] == a["sent"] + a["in links"] + a["freed"] + a["dropped by ports"]
        counted = events(server.said)
        for name, count in server.let_go.items():
            assert counted[name] >= count, (name, server.said)
        assert "traceback" not in server.said


def let_go(server, peer, name):
    """The peer is told why; the honest one loses nothing."""
    with pytest.raises(Gone) as gone:
        for _ in range(100):
            peer.hear()
    assert gone.value.reason.startswith(name + ": "), gone.value.reason
    server.let_go[name] = server.let_go.get(name, 0) + 1
    assert server.read(), server.said
    exchange(server.honest)


@pytest.mark.parametrize("lie", LIES_IN_RINGS)
def test_a_lie_in_a_ring(server, lie):
    name, tell = LIES_IN_RINGS[lie]
    with connected(server.folder / "socket") as peer:
        exchange(peer.start(), 10)
    with connected(server.folder / "socket") as peer:
        tell(peer.start())
        let_go(server, peer, name)


def hello(peer):
    peer.hear(memif_peer.HELLO)


def upto_init(peer, **init):
    hello(peer)
    peer.init(**init)
    return peer


def upto_region(peer):
    upto_init(peer).hear(memif_peer.ACK)
    return peer


def upto_rings(peer):
    upto_region(peer).add_region()
    peer.hear(memif_peer.ACK)
    return peer


def rings(*arguments):
    def lie(peer):
        upto_rings(peer)
        for options in arguments:
            peer.add_ring(**options)
            peer.hear(memif_peer.ACK)
        peer.say(memif_peer.CONNECT)
    return lie


def on_disk(peer):
    with tempfile.TemporaryFile(dir="/var/tmp") as file:
        file.truncate(REGION_BYTES)
        upto_region(peer).add_region(files=[file.fileno()])


def read_only(peer):
    upto_region(peer)
    file = os.open(f"/proc/self/fd/{peer.file}", os.O_RDONLY)
    peer.add_region(files=[file])
    os.close(file)


def without_cookie(peer):
    peer.memory[0:4] = bytes(4)
    rings({"c2s": True}, {"c2s": False})(peer)


LIES_BEFORE = {
    "version 3": ("version", lambda peer: upto_init(peer, version=0x300)),
    "another id": ("id", lambda peer: upto_init(peer, number=9)),
    "an id that is taken": ("taken", lambda peer: upto_init(peer, number=1)),
    "IP mode": ("mode", lambda peer: upto_init(peer, mode=1)),
    "no INIT": ("message_order", lambda peer: (hello(peer), peer.add_region())),
    "INIT twice": ("message_order", lambda peer: upto_region(peer).init()),
    "type 99": ("message_order", lambda peer: upto_region(peer).say(99)),
    "region 1 first": ("region_number", lambda peer: upto_region(peer).add_region(index=1)),
    "region 65535": ("region_number", lambda peer: upto_region(peer).add_region(index=65535)),
    "a region of nothing": ("region_size", lambda peer: upto_region(peer).add_region(size=0)),
    "a region larger than its file": (
        "region_size", lambda peer: upto_region(peer).add_region(size=1 << 30)),
    "a region of 2^64 - 1": (
        "region_size", lambda peer: upto_region(peer).add_region(size=-1)),
    "a region without a file": ("message_files",
                                lambda peer: upto_region(peer).add_region(files=[])),
    "a region with two files": (
        "message_files", lambda peer: upto_region(peer).add_region(files=[peer.file] * 2)),
    "a region that is an eventfd": (
        "region_file", lambda peer: upto_region(peer).add_region(files=[peer.events[0]])),
    "a region on a disk": ("region_file", on_disk),
    "a region that can't be written": ("region_map", read_only),
    "a ring without an eventfd": (
        "message_files", lambda peer: upto_rings(peer).add_ring(True, files=[])),
    "a ring whose eventfd is a file": (
        "ring_event", lambda peer: upto_rings(peer).add_ring(True, files=[peer.file])),
    "ring 1 first": ("ring_number", lambda peer: upto_rings(peer).add_ring(True, index=1)),
    "a ring too many": (
        "ring_number", rings({"c2s": True}, {"c2s": True, "index": 1})),
    "a ring of 2^15": ("ring_size", lambda peer: upto_rings(peer).add_ring(True, log2=15)),
    "a ring of 2^255": ("ring_size", lambda peer: upto_rings(peer).add_ring(True, log2=255)),
    "a ring of 1": ("ring_size", lambda peer: upto_rings(peer).add_ring(True, log2=0)),
    "private bytes": ("ring_place", lambda peer: upto_rings(peer).add_ring(True, private=8)),
    "a ring beyond the region": (
        "ring_place", rings({"c2s": True, "offset": REGION_BYTES + 65536}, {"c2s": False})),
    "a ring over the region's end": (
        "ring_place", rings({"c2s": True, "offset": REGION_BYTES - 64}, {"c2s": False})),
    "a ring of 2^14 at the region's end": (
        "ring_place", rings({"c2s": True, "log2": 14, "offset": REGION_BYTES - 262144},
                            {"c2s": False})),
    "a ring at an odd place": (
        "ring_place", rings({"c2s": True, "offset": 4}, {"c2s": False})),
    "a ring in region 3": (
        "ring_place", rings({"c2s": True, "region": 3}, {"c2s": False})),
    "a ring without a cookie": ("ring_cookie", without_cookie),
    "no rings": ("ring_none", rings()),
    "a ring one way": ("ring_none", rings({"c2s": True})),
    "no more, in the middle of it": ("silent", upto_rings),
}


@pytest.mark.parametrize("lie", LIES_BEFORE)
def test_a_lie_before_it_is_connected(server, lie):
    name, tell = LIES_BEFORE[lie]
    with connected(server.folder / "socket") as peer:
        with pytest.raises(Gone) as gone:
            tell(peer)
            peer.hear()
            peer.hear()
        assert gone.value.reason.startswith(name + ": "), gone.value.reason
    assert server.read(), server.said
    exchange(server.honest)


@pytest.mark.parametrize("size", [0, 4096, BUFFERS_AT])
def test_a_file_that_is_cut(server, size):
    """It would end the process by SIGBUS. (What is sealed can't be cut.)"""
    with connected(server.folder / "socket", seals=0) as peer:
        exchange(peer.start(), 10)
        os.ftruncate(peer.file, size)
        if size:  # the ring by which it sends is there, the buffers aren't
            peer.send.write(peer.send.head, 60, BUFFERS_AT)
            peer.send.head += 1
        wait_until(lambda: not peer.is_served(), "to be let go")
    server.let_go["region_cut"] = 1
    exchange(server.honest)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="takes two CPUs")
def test_a_file_that_is_cut_beneath_a_port_on_another_cpu(tmp_path):
    """Threads of other CPUs leave signals to the main thread, but not this one."""
    path, other = tmp_path / "socket", max(os.sched_getaffinity(0))
    with running(PERIGEE, "run", ROOT / "test" / "echoes.lua", "null",
                 f"cpu{other}:memif:{path},role=server") as process:
        process.wait_for("echoing")
        for _ in range(3):
            with connected(path, seals=0) as peer:
                exchange(peer.start(), 10)
                os.ftruncate(peer.file, 0)
                wait_until(lambda peer=peer: not peer.is_served(), "to be let go")
        with connected(path) as peer:
            exchange(peer.start(), 10)
        assert process.interrupt() == 0, process.said


def take_what_waits(server):
    """What was to be sent to those that lied."""
    with connected(server.folder / "socket") as peer:
        exchange(peer.start(), 10)


def test_what_is_odd_but_no_lie(server):
    """Empty packets, chains of any shape, all of a region, too long a packet; a chain whose
    end comes later."""
    take_what_waits(server)
    with connected(server.folder / "socket") as peer:
        peer.start()
        ring, at = peer.send, BUFFERS_AT
        peer.give()
        peer.memory[at:at + 64] = FRAME
        ring.write(0, 64, at)
        ring.write(1, 0, REGION_BYTES)        # empty, at the very end
        for i in range(2, 34):                # two bytes each
            ring.write(i, 2, at + 2 * (i - 2), flags=NEXT if i < 33 else 0)
        ring.write(34, 10_241, at)            # dropped: too long
        ring.write(35, 64, at)
        ring.head = 20                        # the chain goes on later
        wait_until(lambda: peer.receive.tail == 2, "two packets")
        assert peer.is_served() and ring.tail == 2
        ring.head = 36
        wait_until(lambda: peer.receive.tail == 4, "all packets")
        lengths = [peer.receive.read(i)[2] for i in range(4)]
        assert lengths == [64, 0, 64, 64]
        offset = peer.receive.read(2)[3]
        assert peer.memory[offset:offset + 64] == FRAME
        assert peer.is_served()


def test_packets_in_several_buffers(server):
    """They are chained by both ends, also into buffers of odd sizes."""
    frame = bytes(n % 251 for n in range(10_240))
    take_what_waits(server)
    with connected(server.folder / "socket") as peer:
        peer.start()
        for i in range(100):
            peer.receive.write(i, 100 + i, BUFFERS_AT + 2048 * (SIZE + i))
        peer.receive.head = 100
        start = BUFFERS_AT
        peer.memory[start:start + len(frame)] = frame
        for i in range(5):
            peer.send.write(i, 2048, start + 2048 * i, flags=NEXT if i < 4 else 0)
        peer.send.head = 5
        wait_until(lambda: peer.receive.tail > 0, "the echo")
        back, flags, i = b"", NEXT, 0
        while flags & NEXT:
            flags, _, length, offset, _ = peer.receive.read(i)
            back += peer.memory[offset:offset + length]
            i += 1
        assert back == frame and i == peer.receive.tail


def test_a_peer_that_waits_for_interrupts(server):
    """It is woken; though the eventfd is full and blocks, the other end doesn't wait."""
    with connected(server.folder / "socket") as peer:
        peer.start()
        assert peer.send.flags == memif_peer.QUIET  # who receives there looks by itself
        peer.receive.flags = 0
        event = peer.events[1]
        os.set_blocking(event, True)
        with pytest.raises(BlockingIOError):
            os.set_blocking(event, False)
            while os.eventfd_read(event):
                pass
        exchange(peer, 5)
        wait_until(lambda: os.eventfd_read(event) > 0, "an interrupt")
        os.eventfd_write(event, (1 << 64) - 2)
        os.set_blocking(event, True)
        exchange(peer, 50)
        peer.receive.flags = memif_peer.QUIET
        os.eventfd_read(event)
        exchange(peer, 5)
        os.set_blocking(event, False)
        with pytest.raises(BlockingIOError):
            os.eventfd_read(event)


def test_many_silent_peers_hold_nobody_up(server):
    path = server.folder / "socket"
    with contextlib.ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(connected(path, size=4096))
        with connected(path) as peer:
            exchange(peer.start(), 10)
        exchange(server.honest)


def lie_at_random(tmp_path, seed):
    with running_server(tmp_path) as server:
        server.wait_for("echoing")
        with connected(tmp_path / "socket") as honest:
            honest.start(number=1)
            with running(sys.executable, ROOT / "test" / "lying_memif.py",
                         tmp_path / "socket", LIES, LIVES, seed) as liar:
                ends, exchanged = time.monotonic() + TIMEOUT_S, 0
                while liar.read(0.01):
                    exchange(honest)
                    exchanged += 1
                    assert server.read(), (seed, server.said)
                    assert time.monotonic() < ends, (seed, liar.said)
                assert liar.finish() == 0, (seed, liar.said, server.said)
            assert exchanged > 10
        assert server.interrupt() == 0, server.said
    lies, lives = map(int, re.search(r"(\d+) lies in (\d+) lives", liar.said).groups())
    assert lies >= LIES and lives >= LIVES
    assert sum(events(server.said).values()) > 0
    a = account(server.said)
    assert a["received"] == a["sent"] + a["in links"] + a["freed"] + a["dropped by ports"]


def test_lies_of_a_fixed_seed(tmp_path):
    lie_at_random(tmp_path, FIXED_SEED)


def test_lies_of_another_seed(tmp_path):
    lie_at_random(tmp_path, random.randrange(2**31))


def test_secrets(tmp_path):
    secret, wrong = tmp_path / "secret", tmp_path / "wrong"
    secret.write_text("only we know\n")
    wrong.write_text("only we guess\n")
    path = tmp_path / "socket"
    with running(PERIGEE, "run", ROOT / "test" / "echoes.lua",
                 f"memif:{path},role=server,secret_file={secret}") as server:
        server.wait_for("echoing")
        for bad in b"", b"only", b"only we know.", b"only we guess":
            with connected(path) as peer, pytest.raises(Gone) as gone:
                peer.start(secret=bad)
            assert gone.value.reason.startswith("secret: ")
        with running(PERIGEE, "run", ROOT / "test" / "echoes.lua",
                     f"memif:{path},secret_file={wrong}") as client:
            client.wait_for("the server refuses it")
            client.wait_for_engine()
            assert client.interrupt() == 0
        with connected(path) as peer:
            exchange(peer.start(secret=b"only we know"), 5)
        assert server.interrupt() == 0
        assert "only we know" not in server.said
    for text, problem in ("\n", "it is empty"), ("x" * 25 + "\n", "it has 25"):
        secret.write_text(text)
        result = perigee("echo", f"memif:{path},role=server,secret_file={secret}", 0, 1)
        assert result.returncode == 2 and "1 to 24 bytes" in result.stderr, result.stderr
        assert problem in result.stderr or text == "\n"
