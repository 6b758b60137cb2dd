# SPDX-License-Identifier: Apache-2.0
"""memif peers that lie: each lie is counted by its name and its peer let go, while another
peer of the same socket loses nothing."""

import os
import tempfile

import pytest

from helpers import memif_peer
from helpers.command import PERIGEE, ROOT, running, wait_until
from helpers.memif_echo import FRAME, exchange, serving
from helpers.memif_peer import (
    BUFFER, BUFFERS_AT, NEXT, REGION_BYTES, SIZE, Gone, connected)


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
    with serving() as server:
        yield server


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
