# SPDX-License-Identifier: Apache-2.0
"""Cards whose packets several CPUs share, in a virtual machine with two: a virtio card
that spreads flows over its queues itself (RSS), and an e1000e, whose driver doesn't."""

import collections
import re

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from helpers.command import ROOT
from helpers.guest import booted, tap
from helpers.network import Wire
from helpers.report import account, numbers

E1000E, VIRTIO = "0000:01:00.0", "0000:02:00.0"
FLOWS, ROUNDS = 32, 8


def frame(flow, number):
    """A frame of IPv4 or IPv6 with UDP or TCP; its last bytes are the flow, the frame's
    number in it, and room for a queue's."""
    address = IP(src=f"10.0.{flow}.1") if flow % 2 else IPv6(src=f"fd00::{flow:x}")
    ports = (UDP if flow % 4 < 2 else TCP)(sport=1000 + 7 * flow)
    return bytes(Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01") / address / ports
                 / (bytes(30) + bytes([flow, number, 0])))


FRAMES = [frame(flow, number) for number in range(ROUNDS) for flow in range(FLOWS)]


@pytest.fixture
def guest(tmp_path, namespace):
    """A guest, with the wires of its cards by their addresses."""
    inside = namespace("g")
    with booted(tmp_path, cards=["e1000e"], devices=tap(1, "tap0", 2), namespace=inside,
                cpus=2) as running:
        inside.ip("link", "set", "tap0", "up")
        with Wire(inside, "tap0") as wire:
            running.wire_of = {E1000E: running.wires[0], VIRTIO: wire}
            for address in running.wire_of:
                running.check(ROOT / "perigee", "pci_bind", "-u", address, "--do")
            yield running


def test_each_flow_comes_by_one_queue(guest):
    """And flows by both; none of their packets is lost, nor out of order."""
    program = guest.start("run", ROOT / "test" / "card_queues.lua", VIRTIO, 2)
    guest.wire_of[VIRTIO].wait_for_echo(program, 120)
    back = guest.wire_of[VIRTIO].exchange(FRAMES, 60)
    assert program.interrupt() == 0, program.said
    queues, came = collections.defaultdict(set), collections.defaultdict(list)
    for data in back:
        flow, number, queue = data[-3:]
        queues[flow].add(queue)
        came[flow].append(number)
    assert came == {flow: list(range(ROUNDS)) for flow in range(FLOWS)}
    assert all(len(by) == 1 for by in queues.values()), queues
    assert set().union(*queues.values()) == {0, 1}

    for address, wire in guest.wire_of.items():
        program = guest.start("echo", address, "--cpus", "0,1")
        wire.wait_for_echo(program, 120)
        assert sorted(wire.exchange(FRAMES, 60)) == sorted(FRAMES)
        assert program.interrupt() == 0, program.said
        shares = [n for (n,) in numbers(r"^  transmitted ([\d,]+) packets", program.said)]
        assert len(shares) == 2 and min(shares) >= ROUNDS, program.said
        assert account(program.said)["received"] == sum(shares)
        # DPDK's statistics count what came, and nothing else.
        counted = re.findall(r"ipackets ([\d,]+)", program.said)
        assert sum(int(n.replace(",", "")) for n in counted) == sum(shares)
