# SPDX-License-Identifier: Apache-2.0
"""Frames that lie to ports whose other end is the kernel: somebody with a raw socket on
the interface sends headers that say more than there is, and a struct virtio_net_hdr of any
content (PACKET_VNET_HDR), as far as the kernel takes that. The port goes on, and honest
frames come back whole."""

import os
import random
import struct

import pytest

from helpers.command import PERIGEE, run, running, wait_until
from helpers.network import Wire, veth

LIES = 200_000 if os.environ.get("PERIGEE_LONG") else 2_000
FIXED_SEED = 37
HONEST = [b"\xff" * 12 + b"\x88\xb5" + struct.pack("!I", n) + b"honest" * 9
          for n in range(200)]
PLACES = [0, 1, 13, 14, 18, 33, 34, 54, 255, 65535]  # in a frame


def ip4(dice):
    return struct.pack("!BBHHHBBH8s", 4 << 4 | dice.choice([5, 5, 6, 15, 0]), 0,
                       dice.choice([0, 20, 60, 1500, 65535]), 0,
                       dice.choice([0, 0x2000, 8191]), 64,
                       dice.choice([1, 4, 6, 17, 47]), 0, b"\2" * 8)


def ip6(dice):
    return struct.pack("!IHBB32s", 6 << 28, dice.choice([0, 8, 65535]),
                       dice.choice([0, 6, 17, 43, 44, 60]), 1, b"\3" * 32)


def frame(dice, longest):
    """To nobody's address: no kernel answers."""
    inside, kind = dice.choice([(ip4, b"\x08\0"), (ip6, b"\x86\xdd")])
    tags = dice.choice([b"", b"", b"\x81\0\0\7", b"\x88\xa8\0\1\x81\0\0\7"])
    data = b"\2\0\0\0\0\1\2\0\0\0\0\2" + tags + kind + inside(dice)
    data += b"L" * dice.choice([0, 1, 8, 20, longest])
    return data[:dice.choice([14, 15, 34, 54, longest, longest])]


def lie(dice):
    """A struct virtio_net_hdr: flags, kind of segments, lengths and places."""
    return struct.pack("=BBHHHH", dice.choice([0, 1, 1, 2, 255]),
                       dice.choice([0, 0, 1, 3, 4, 5, 0x81]), dice.choice(PLACES),
                       dice.choice([0, 1, 100, 1448, 65535]), dice.choice(PLACES),
                       dice.choice([0, 6, 16, 65535]))


def send_lies(wire, dice, longest):
    """How many of them the kernel took."""
    taken = 0
    for _ in range(LIES):
        try:
            wire.send(lie(dice) + frame(dice, longest))
            taken += 1
        except OSError:
            pass  # it has seen the lie
    return taken


@pytest.mark.parametrize("seed", [FIXED_SEED, random.randrange(2**31)],
                         ids=["fixed seed", "another seed"])
@pytest.mark.parametrize("port, offloads", [
    ("packet:left", False), ("packet:left", True), ("tap:left", True),
    ("tap:left,offload=1", True), ("xdp:left", False)])
def test_headers_that_say_more_than_there_is(namespace, port, offloads, seed):
    here, there = namespace("h"), namespace("t")
    if port.startswith("tap"):
        there, peer = here, "left"
    else:
        peer = "right"
        veth(here, "left", there, peer, offloads=offloads)
    with running(*here.command(PERIGEE, "echo", port)) as program:
        if peer == "left":
            wait_until(lambda: program.read() and "LOWER_UP" in
                       run(*here.command("ip", "link", "show", peer)).stdout,
                       lambda: program.said)
        with Wire(there, peer) as wire:
            wire.wait_for_echo(program)
        with Wire(there, peer, offload=True) as wire:
            taken = send_lies(wire, random.Random(seed), 1514)
        assert 0 < taken < LIES, (seed, taken, program.said)
        with Wire(there, peer) as wire:
            wire.wait_for_echo(program)
            assert wire.exchange(HONEST) == HONEST, (seed, program.said)
        assert program.interrupt() == 0, (seed, program.said)
        assert "traceback" not in program.said, (seed, program.said)
