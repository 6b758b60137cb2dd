# SPDX-License-Identifier: Apache-2.0
"""Copies of a configuration on two CPUs, each of which opens a port for itself: nothing is
received twice, and answers come to the copy that has their flow."""

import os
import re
import struct

import pytest

from helpers.command import PERIGEE, perigee, run, running
from helpers.network import Wire, veth

CPUS = sorted(os.sched_getaffinity(0))
pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="it takes two CPUs")

ON_TWO = ("--cpus", f"{CPUS[0]},{CPUS[1]}")
FLOWS, ROUNDS, WINDOW = 60, 5, 20
OWN = "opened by each copy, which receives only what is for it"
NAT = """
nat :: IPRewriter(pattern 192.0.2.1 1024-65535 - - 0 1, drop);
FromDevice(in) -> Strip(14) -> CheckIPHeader -> [0] nat
  -> EtherEncap(0x0800, 2:0:0:0:0:2, 2:0:0:0:0:3) -> to_out :: ToDevice(out);
FromDevice(out) -> Strip(14) -> CheckIPHeader -> [1] nat;
nat [1] -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:a) -> to_in :: ToDevice(in);
"""


def checksum(header):
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xffff) + (total >> 16)
    return 0xffff - ((total & 0xffff) + (total >> 16))


def frame(flow, number):
    """A UDP packet of the flow, which says which it is."""
    payload = struct.pack("!HH", flow, number)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 32, 0, 0, 64, 17, 0,
                     bytes((10, 0, flow % 7, 1)), bytes((198, 51, 100, 1 + flow % 5)))
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return (bytes.fromhex("0200000000010200000000000a0800"[:28]) + ip
            + struct.pack("!HHHH", 2000 + flow, 53, 12, 0) + payload)


def answer(got):
    """To what the NAT has sent, from the other end."""
    return got[:26] + got[30:34] + got[26:30] + got[36:38] + got[34:36] + got[38:]


def number_of(got):
    return struct.unpack("!HH", got[42:46])


def passed(source, sink, frames):
    """Send the frames by the one; what comes of them at the other."""
    got = []
    for at in range(0, len(frames), WINDOW):
        for one in frames[at:at + WINDOW]:
            source.send(one)
        while len(got) < min(at + WINDOW, len(frames)):
            one = sink.receive(timeout=30)
            assert one is not None, f"{len(got)} of {len(frames)} came"
            if one[12:14] == b"\x08\x00":
                got.append(one)
    return got


def test_a_nat_of_interfaces_is_divided_by_the_kernel(namespace):
    here, there = namespace("n"), namespace("f")
    veth(here, "in", there, "inside", offloads=False)
    veth(here, "out", there, "outside", offloads=False)
    devices = [word for name in ("in", "out") for word in ("--device", f"{name}=packet:{name}")]
    plan = run(*here.command(PERIGEE, "plan", "--no-source", "click", *ON_TWO, *devices,
                             "-e", NAT))
    assert plan.stdout.count(OWN) == 2, plan
    frames = [frame(flow, number) for number in range(ROUNDS) for flow in range(FLOWS)]
    sent = [number_of(one) for one in frames]
    with running(*here.command(PERIGEE, "click", *ON_TWO, *devices, "-h", "nat.size",
                               "-e", NAT)) as click:
        click.wait_for_engine()
        with Wire(there, "inside") as inside, Wire(there, "outside") as outside:
            out = passed(inside, outside, frames)
            back = passed(outside, inside, [answer(one) for one in out])
            assert inside.receive(0.2) is None and outside.receive(0.2) is None
        shm = perigee("shm", click.pid).stdout
        assert click.interrupt() == 0, click.said
    assert sorted(map(number_of, out)) == sorted(sent)
    assert sorted(map(number_of, back)) == sorted(sent)
    mapped = {(number_of(one)[0], one[34:36]) for one in out}
    assert len(mapped) == FLOWS, "a flow has one port"
    for one in back:
        assert one[36:38] == struct.pack("!H", 2000 + number_of(one)[0])
    assert f"{FLOWS}\n" in click.said
    shares = [int(n) for n in re.findall(r"click_[12]/port@packet_in/rxpackets\s+([\d,]+)",
                                         shm.replace(",", ""))]
    assert len(shares) in (0, 2) and all(shares), shm
