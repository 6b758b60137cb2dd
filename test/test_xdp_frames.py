# SPDX-License-Identifier: Apache-2.0
"""What passes an AF_XDP port is whole, wherever its packets lie in memory: on small pages
(--no-huge) and on huge ones, in a pool that has grown, and in each frame of the port's own."""

import random
import re
import struct

import pytest

from helpers.command import PERIGEE, ROOT, running
from helpers.network import Wire, veth

FRAMES, DEPTH = 20_000, 10_000  # an `xdp` port has 5,119 frames of its own
LENGTHS = 60, 1514
HEADER = bytes.fromhex("020000000001020000000002") + b"\x88\xb6"


def numbered(count):
    """Frames of many lengths, with a number and bytes at random."""
    choose = random.Random(38)
    noise = choose.randbytes(1 << 16)
    frames = []
    for number in range(count):
        length = choose.randint(*LENGTHS) - len(HEADER) - 4
        at = choose.randrange(len(noise) - length)
        frames.append(HEADER + struct.pack("!I", number) + noise[at:at + length])
    return frames


def number(frame):
    return struct.unpack_from("!I", frame, len(HEADER))[0]


def exchanged(namespace, frames, *command):
    """What comes back of the frames, and what the program says in the end."""
    here, there = namespace("p"), namespace("t")
    veth(here, "left", there, "right", offloads=False)
    with Wire(there, "right") as wire, \
            running(*here.command(PERIGEE, *command)) as program:
        program.wait_for_engine()
        back = wire.exchange(frames, timeout=60)
        assert program.interrupt() == 0, program.said
    lost = {number(f) for f in frames} - {number(f) for f in back}
    assert not lost, f"{len(lost)} lost, the first {sorted(lost)[:10]}: {program.said}"
    return back, program.said


@pytest.fixture(params=[("--eal", "--no-huge"), ()], ids=["small pages", "huge pages"])
def memory(request):
    return request.param


def test_each_frame_of_the_port_is_sent(namespace, memory):
    frames = numbered(FRAMES)
    back, said = exchanged(namespace, frames, *memory, "run",
                           ROOT / "test/xdp_own_frames.lua", "xdp:left")
    assert 2000 < int(re.search(r"^frames: (\d+)$", said, re.M)[1]) < FRAMES / 2
    assert back == frames


def test_packets_of_a_pool_that_has_grown(namespace, memory):
    frames = numbered(FRAMES)
    back, said = exchanged(namespace, frames + frames[:DEPTH], *memory, "run",
                           ROOT / "test/delay_line.lua", "xdp:left", DEPTH)
    assert re.search(r"the packet pool has grown from \d+ to 1\d{4} packets", said)
    assert back == frames[:DEPTH] + frames
