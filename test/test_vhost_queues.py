# SPDX-License-Identifier: Apache-2.0
"""Virtual machines with two pairs of queues (`vhost:PATH,queues=2`), of which they use one
or both."""

import contextlib
import struct

import pytest
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from helpers import vhost_peer
from helpers.command import PERIGEE, running, wait_until
from helpers.nfv import Bench, port
from helpers.vhost_peer import (
    GUEST_BASES, MQ, PROTOCOL_FEATURES, RECEIVE, SEND, SET_VRING_ENABLE,
    VERSION_1, WRITE, Gone, Peer, connected)

HEADER = bytes(12)
FEATURES = MQ | PROTOCOL_FEATURES | VERSION_1
BUFFER_BYTES = 2048
FLOWS = 16


def flow(number, to="525400000003", source="525400000004"):
    """A frame of UDP over IPv4, of that flow."""
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 46, 0, 0, 64, 17, 0, b"\x0a\0\0\1",
                     b"\x0a\0\0\2")
    return bytes.fromhex(to + source) + b"\x08\0" + ip + \
        struct.pack("!HHHH", 1000 + number, 7, 26, 0) + struct.pack("!I", number) + bytes(14)


class Guest:
    """A guest's queues, with buffers to receive into."""

    def __init__(self, peer):
        self.peer, self.frames = peer, []
        self.came = [0] * len(peer.queues)  # by queue

    def buffer(self, queue, slot):
        return self.peer.buffers + BUFFER_BYTES * (queue.number * queue.size + slot)

    def offer(self):
        for queue in self.peer.queues[RECEIVE::2]:
            for slot in range(queue.size):
                queue.write(slot, GUEST_BASES[0] + self.buffer(queue, slot), BUFFER_BYTES, WRITE)
                queue.offer(slot)

    def send(self, pair, frames):
        queue = self.peer.queues[2 * pair + SEND]
        for frame in frames:
            slot, data = queue.index % queue.size, HEADER + frame
            at = self.buffer(queue, slot)
            self.peer.memory[0][at:at + len(data)] = data
            queue.write(slot, GUEST_BASES[0] + at, len(data))
            queue.offer(slot)
        wait_until(lambda: queue.taken == queue.index, "that they are taken")

    def received(self, again=False):
        """All frames that have come so far; their buffers are offered `again`, or not."""
        for queue in self.peer.queues[RECEIVE::2]:
            while self.came[queue.number] != queue.taken:
                at = queue.used + 4 + 8 * (self.came[queue.number] % queue.size)
                slot, size = struct.unpack_from("<II", queue.memory, at)
                start = self.buffer(queue, slot)
                self.frames.append(self.peer.memory[0][start + len(HEADER):start + size])
                self.came[queue.number] += 1
                if again:
                    queue.offer(slot)
        return self.frames

    def use(self, pair, on):
        for number in 2 * pair, 2 * pair + 1:
            self.peer.say(SET_VRING_ENABLE, struct.pack("<II", number, on))
        self.peer.say(vhost_peer.GET_FEATURES)  # it has been heard


def at_once(path, program):
    """A peer at the socket, as soon as the program listens: it has a name before that."""
    def connect():
        assert program.read(), program.said
        with contextlib.suppress(Gone):
            return Peer(path, pairs=2, size=32)
    return contextlib.closing(wait_until(connect, "the socket"))


@pytest.fixture(params=["one CPU", "two CPUs"])
def echo(request, tmp_path):
    """A guest at `perigee echo`, with a queue for each of two workers, or one for both."""
    path = tmp_path / "guest.sock"
    cpus = ["--cpus", "0,1"] if request.param == "two CPUs" else []
    with running(PERIGEE, *cpus, "echo", f"vhost:{path},queues=2") as program:
        with at_once(path, program) as peer:
            guest = Guest(peer)
            guest.offer()
            peer.start(FEATURES)
            yield guest
        assert program.interrupt() == 0, program.said


def test_both_pairs_are_used(echo):
    frames = [flow(n) for n in range(FLOWS)]
    echo.send(0, frames[:8])
    echo.send(1, frames[8:])
    wait_until(lambda: len(echo.received()) == FLOWS, "all")
    assert sorted(echo.frames) == sorted(frames)
    assert echo.came[RECEIVE] and echo.came[2 + RECEIVE]


def test_a_pair_that_is_not_used_gets_nothing(echo):
    """As it stops and begins while the program runs."""
    for on in 0, 1, 0:
        echo.use(1, on)
        before, other = len(echo.frames), echo.came[2 + RECEIVE]
        echo.send(0, [flow(n) for n in range(4)])
        wait_until(lambda: len(echo.received()) == before + 4, "all")
        assert on or echo.came[2 + RECEIVE] == other


def test_packets_in_memory_are_each_sent_as_often_to_queues_that_are_full(tmp_path):
    frames, loops, path = [flow(n) for n in range(7)], 30, tmp_path / "guest.sock"
    wrpcap(str(tmp_path / "in.pcap"), [Ether(frame) for frame in frames])
    with running(PERIGEE, "replay", "--topspeed", "--loop", loops, tmp_path / "in.pcap",
                 f"vhost:{path},queues=2") as program:
        with at_once(path, program) as peer:
            guest = Guest(peer)
            guest.offer()
            peer.start(FEATURES)
            wait_until(lambda: len(guest.received(again=True)) == len(frames) * loops, "all")
        assert program.finish() == 0, program.said
    assert [guest.frames.count(frame) for frame in frames] == [loops] * len(frames)


def test_a_switch_and_a_guest_with_two_pairs(tmp_path):
    bench = Bench(tmp_path)
    bench.write(port("A", mac_address="52:54:00:00:00:03"),
                port("B", mac_address="52:54:00:00:00:04", queues=2))
    bench.send("A", [flow(n, "525400000004", "525400000003") for n in range(FLOWS)])
    with bench.nfv() as nfv:
        nfv.wait_for("nfv traffic:")
        with connected(bench.folder / "B.sock", pairs=2, size=32) as peer:
            guest = Guest(peer)
            guest.offer()
            peer.start(FEATURES)
            with bench.guests("A") as other:
                guest.send(1, [flow(1)])
                bench.wait_for("A", 1, nfv, other)
                wait_until(lambda: len(guest.received()) == FLOWS, "all")
        assert guest.came[RECEIVE] and guest.came[2 + RECEIVE]
        assert nfv.interrupt() == 0, nfv.said


@pytest.mark.parametrize("queues", [1, 2])
def test_a_guest_with_more_pairs_than_its_port_is_told_of(tmp_path, queues):
    path = tmp_path / "guest.sock"
    sentence = (f"the virtual machine at '{path}' uses 2 pairs of queues, and its port has "
                "1; what it sends by the others is lost: give the port queues=2")
    with running(PERIGEE, "echo", f"vhost:{path},queues={queues}") as program:
        with at_once(path, program) as peer:
            guest = Guest(peer)
            guest.offer()
            peer.start(FEATURES)
            guest.send(0, [flow(1)])
            wait_until(guest.received, "it")
            if queues == 1:
                program.wait_for(sentence)
        assert program.interrupt() == 0, program.said
    assert program.said.count("pairs of queues") == (queues == 1)
