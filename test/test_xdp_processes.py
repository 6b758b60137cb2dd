# SPDX-License-Identifier: Apache-2.0
"""Several processes on one interface by AF_XDP, each with a queue of its own."""

import json
import signal
import struct

import pytest

from helpers.command import PERIGEE, running, wait_until
from helpers.network import Wire

FLOWS = 32


def flow(number):
    """A frame of a UDP flow: the kernel chooses the queue by its ports."""
    udp = struct.pack("!HHHH", 1000 + number, 53, 8 + 18, 0)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + 26, number, 0, 64, 17, 0,
                     bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    return bytes.fromhex("020000000001020000000002") + b"\x08\x00" + ip + udp + bytes(18)


def program_of(here):
    """What the kernel says of the interface's XDP program; None if there is none."""
    return json.loads(here.ip("-json", "-details", "link", "show", "left"))[0].get("xdp")


FRAMES = [flow(n) for n in range(FLOWS)]


@pytest.fixture
def pair(namespace):
    here, there = namespace("p"), namespace("t")
    here.ip("link", "add", "left", "numrxqueues", "2", "numtxqueues", "2", "type", "veth",
            "peer", "name", "right", "numrxqueues", "2", "numtxqueues", "2",
            "netns", there.name)
    for side, name in (here, "left"), (there, "right"):
        for offload in "tx", "gro":
            side.check("ethtool", "-K", name, offload, "off")
        side.ip("link", "set", name, "up")
    return here, there


def echoed(wire):
    """The flows that come back."""
    while wire.receive(0.001) is not None:
        pass
    for frame in FRAMES:
        wire.send(frame)
    back = set()
    while len(back) < FLOWS:
        frame = wire.receive(0.3)
        if frame is None:
            break
        if frame in FRAMES:
            back.add(FRAMES.index(frame))
    return back


def echo(here, queue):
    return running(*here.command(PERIGEE, "echo", f"xdp:left,queue={queue}"))


def wait_for(wire, flows, *programs):
    def alive():
        assert all(program.read() for program in programs), \
            [program.said for program in programs]
        return echoed(wire) == flows
    wait_until(alive, "other flows come back than should")


def test_each_process_has_a_queue(pair):
    here, there = pair
    everything = set(range(FLOWS))
    with Wire(there, "right") as wire:
        with echo(here, 0) as first:
            wait_until(lambda: first.read() and echoed(wire), "nothing comes back")
            of_first = echoed(wire)
            with echo(here, 1) as second:
                wait_for(wire, everything, first, second)
                assert of_first and of_first != everything
                first.send(signal.SIGKILL)
                first.process.wait()
                wait_for(wire, everything - of_first, second)
                program = program_of(here)
                with echo(here, 0) as third:
                    wait_for(wire, everything, second, third)
                    assert program_of(here) == program
                    assert second.interrupt() == 0, second.said
                    wait_for(wire, of_first, third)
                    assert third.interrupt() == 0, third.said
    wait_until(lambda: program_of(here) is None, "the program stays")


def test_a_queue_belongs_to_one_process(pair):
    here, there = pair
    with Wire(there, "right") as wire, echo(here, 0) as first:
        wait_until(lambda: first.read() and echoed(wire), "nothing comes back")
        before = echoed(wire)
        second = here.run(PERIGEE, "echo", "xdp:left", 1, 1)
        assert second.returncode == 1, second.stderr
        assert "another process has that queue of the interface" in second.stderr
        assert echoed(wire) == before
        assert first.interrupt() == 0, first.said
