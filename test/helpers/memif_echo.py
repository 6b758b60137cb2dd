# SPDX-License-Identifier: Apache-2.0
"""A perigee that serves a memif socket and sends back what it receives, for peers of
helpers.memif_peer."""

import contextlib
import os
import pathlib
import re
import tempfile

from helpers.command import PERIGEE, ROOT, running, wait_until
from helpers.memif_peer import SIZE, connected
from helpers.report import account

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


@contextlib.contextmanager
def serving():
    """Such a server with an honest peer at id 1 (`honest`), whose socket is in `folder`;
    `let_go` says of which names it has let peers go. At its end nothing is missing."""
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
