# SPDX-License-Identifier: Apache-2.0
"""memif peers that do what is allowed, and odd: chains of any shape, interrupts, silence;
and those that don't know the secret."""

import contextlib
import os

import pytest

from helpers import memif_peer
from helpers.command import PERIGEE, ROOT, perigee, running, wait_until
from helpers.memif_echo import FRAME, exchange, serving
from helpers.memif_peer import (
    BUFFERS_AT, NEXT, REGION_BYTES, SIZE, Gone, Server, connected, listening)


@pytest.fixture(scope="module")
def server():
    with serving() as server:
        yield server


def test_what_is_odd_but_no_lie(server):
    """Empty packets, chains of any shape, all of a region, too long a packet; a chain whose
    end comes later."""
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


def test_a_server_has_all_buffers_when_the_first_packet_comes(tmp_path):
    """It may drop what it has no buffer for. (This client never receives.)"""
    path = tmp_path / "socket"
    with listening(path) as listener, \
            running(PERIGEE, "packetblaster", "synth", f"memif:{path}") as client:
        server = Server(listener)
        server.start()
        wait_until(lambda: client.read() and server.receive.head > 0,
                   lambda: f"packets: {client.said}")
        assert server.send.head == server.send.size == 1024, client.said
        server.close()
