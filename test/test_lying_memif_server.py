# SPDX-License-Identifier: Apache-2.0
"""memif servers that lie to a port that connects: each lie is told by its name, and the
next server is served. (test_lying_memif.py has the peers of a port that is a server.)"""

import fcntl
import os

import pytest

from helpers import memif_peer
from helpers.command import PERIGEE, ROOT, running, wait_until
from helpers.memif_peer import NEXT, Gone, Server, listening

FRAME = bytes(range(64))


@pytest.fixture
def client(tmp_path):
    with listening(tmp_path / "socket") as listener, \
            running(PERIGEE, "run", ROOT / "test" / "echoes.lua",
                    f"memif:{tmp_path / 'socket'}") as client:
        client.listener = listener
        yield client
        assert client.interrupt() == 0, client.said
        assert "traceback" not in client.said


def serve_once(client, act, name):
    """Act on the next connection, which is told that name and closed; the next is good."""
    server = Server(client.listener)
    try:
        with pytest.raises(Gone) as gone:
            act(server)
            for _ in range(20):
                server.hear()
        assert gone.value.reason.startswith(name + ": "), gone.value.reason
    finally:
        server.close()
    serve_well(client)


def serve_well(client):
    server = Server(client.listener)
    server.start()
    send, receive = server.send, server.receive
    wait_until(lambda: client.read() and send.head > send.tail, "buffers")
    _, _, length, offset, _ = send.read(0)
    assert length == 2048
    server.memory[offset:offset + 64] = FRAME
    send.write(0, 64, offset)
    send.tail = 1

    def came():  # behind what was for a server that lied
        slots = [receive.read(i) for i in range(receive.head)]
        return client.read() and any(server.memory[at:at + length] == FRAME
                                     for _, _, length, at, _ in slots)
    wait_until(came, "the echo")
    server.close()


def in_ring(tell):
    def act(server):
        server.start()
        wait_until(lambda: server.send.head > 0, "buffers")
        tell(server)
    return act


SERVERS_LIES = {
    "no HELLO": ("message_order", lambda server: server.say(memif_peer.ACK)),
    "version 1": ("version", lambda server: server.hello(least=0x100, most=0x100)),
    "rings of 1": ("ring_size", lambda server: server.hello(log2=0)),
    "CONNECTED too early": (
        "message_order", lambda server: (server.hello(), server.hear(memif_peer.INIT),
                                         server.say(memif_peer.CONNECTED))),
    "nothing at all": ("silent", lambda server: None),
    "a tail of more than there is": (
        "ring_cursor", in_ring(lambda server: setattr(server.send, "tail", 2000))),
    "an offset of 4 GB - 16": (
        "descriptor_place", in_ring(lambda server: (
            server.send.write(0, 60, 0xfffffff0), setattr(server.send, "tail", 1)))),
    "region 1": (
        "descriptor_region", in_ring(lambda server: (
            server.send.write(0, 60, 0, region=1), setattr(server.send, "tail", 1)))),
    "a length of 4 GB - 1": (
        "descriptor_place", in_ring(lambda server: (
            server.send.write(0, 0xffffffff, 0), setattr(server.send, "tail", 1)))),
    "chained for ever": (
        "chain", in_ring(lambda server: (
            [server.send.write(i, 8, 0, flags=NEXT) for i in range(1024)],
            setattr(server.send, "tail", 1024)))),
    "a packet taken that wasn't sent": (
        "ring_cursor", in_ring(lambda server: (
            setattr(server.receive, "tail", 9), server.send.write(0, 60, 0),
            setattr(server.send, "tail", 1)))),
}


@pytest.mark.parametrize("lie", SERVERS_LIES)
def test_a_server_that_lies(client, lie):
    name, act = SERVERS_LIES[lie]
    serve_once(client, act, name)


def test_a_server_cannot_cut_the_memory_of_its_client(client):
    server = Server(client.listener)
    server.start()
    with pytest.raises(PermissionError):
        os.ftruncate(server.files[0], 0)
    with pytest.raises(PermissionError):
        fcntl.fcntl(server.files[0], fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    server.close()
    serve_well(client)


def test_what_a_server_says_as_it_refuses(client):
    """Printed once, without control characters."""
    for _ in range(2):
        server = Server(client.listener)
        server.say(memif_peer.DISCONNECT, b"\0\0\0\0not \x1b[31myou\n")
        server.close()
    serve_well(client)
    assert client.said.count('the server refuses it ("not ?[31myou?")') == 1, client.said
