# SPDX-License-Identifier: Apache-2.0
"""Frames that no host would send come back unchanged from `echo` on an interface."""

import random
import struct

import pytest
from scapy.all import (ARP, IP, TCP, UDP, Dot1AD, Dot1Q, Ether, ICMP, IPv6, Raw, raw)

from helpers.command import PERIGEE, running
from helpers.network import Wire, veth
from helpers.report import account, drops

CHAIN = 3
LONGEST = 9000
MOST_XDP_MTU = 3264 - 18  # bytes of an AF_XDP frame less Ethernet header and VLAN tag

ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
LOCAL = 0x88B5  # EtherType for local experiments, IEEE 802


def cut(packet, length):
    return raw(packet)[:length]


def local(length):
    """A frame of random bytes of a length, with a header that means nothing."""
    payload = random.Random(length).randbytes(length - 14)
    return raw(ETHER)[:12] + struct.pack("!H", LOCAL) + payload


def odd_frames(longest):
    tcp = ETHER / IP(src="10.0.0.1", dst="10.0.0.2") / TCP() / Raw(b"x" * 40)
    frames = [
        local(14), local(15), local(59), local(60), local(1514), local(longest - 1),
        local(longest),
        raw(ETHER / Dot1Q(vlan=0, type=LOCAL) / Raw(b"priority")),
        raw(ETHER / Dot1Q(vlan=4095, prio=7, id=1) / IP() / UDP() / Raw(bytes(30))),
        raw(ETHER / Dot1Q(vlan=5) / Dot1Q(vlan=6) / IP() / ICMP()),
        raw(ETHER / Dot1Q(vlan=5) / Raw(b"12")),  # Linux drops what is shorter
        cut(tcp, 14), cut(tcp, 15), cut(tcp, 33), cut(tcp, 34), cut(tcp, 35),
        cut(tcp, 53),
        raw(ETHER / IP(ihl=15, len=20)), raw(ETHER / IP(ihl=1)),
        raw(ETHER / IP(len=9) / TCP()), raw(ETHER / IP(len=65535) / TCP()),
        raw(ETHER / IP(flags="MF", frag=8191) / Raw(bytes(100))),
        raw(ETHER / IP(chksum=0xDEAD) / TCP(dataofs=15, chksum=0xBEEF)),
        raw(ETHER / IPv6(plen=60000) / UDP(len=1)), cut(ETHER / IPv6(), 30),
        raw(ETHER / ARP()), cut(ETHER / ARP(), 20),
        raw(Ether(src="ff:ff:ff:ff:ff:ff", dst="ff:ff:ff:ff:ff:ff", type=0)),
        bytes(14), bytes(60), b"\xff" * 60,
        raw(ETHER)[:12] + struct.pack("!H", 60) + bytes(60),  # 802.3 length field
    ]
    rng = random.Random(longest)
    frames += [rng.randbytes(rng.randint(14, longest)) for _ in range(300)]
    return [f for f in frames if f[12:14] not in (b"\x88\xa8", b"\x81\x00")
            or f[:12] == raw(ETHER)[:12]]


SERVICE_TAGGED = [
    raw(ETHER / Dot1AD(vlan=7, prio=3, type=LOCAL) / Raw(bytes(50))),
    raw(ETHER / Dot1AD(vlan=7) / Dot1Q(vlan=8) / IP() / UDP() / Raw(bytes(50))),
]


@pytest.fixture
def echo(namespace):
    """A function that sends frames through `echo KIND:left` and returns those that
    came back and what the program said; `mtu` is that of both interfaces."""
    def through(kind, frames, mtu):
        here, there = namespace("p"), namespace("t")
        veth(here, "left", there, "right", mtu=mtu)
        command = here.command(PERIGEE, "echo", f"{kind}:left", CHAIN)
        with Wire(there, "right") as wire, running(*command) as program:
            probes = wire.wait_for_echo(program)
            back = wire.exchange(frames, timeout=2)
            assert program.interrupt() == 0, program.said
        assert account(program.said)["received"] == len(frames) + probes
        return back, program.said
    return through


def differing(back, frames):
    return [(sent.hex(), got.hex()) for sent, got in zip(frames, back) if sent != got]


@pytest.mark.parametrize("kind, longest", [
    ("packet", LONGEST), ("packet", LONGEST + 14), ("xdp", MOST_XDP_MTU + 14),
    ("xdp", 1514)])
def test_every_frame_comes_back(echo, kind, longest):
    frames = odd_frames(longest)
    back, said = echo(kind, frames, mtu=longest - 14)
    assert differing(back, frames) == []
    assert len(back) == len(frames)
    assert drops(said) == {}


@pytest.mark.parametrize("kind", ["packet", "xdp"])
def test_service_tags_stay(echo, kind):
    """The kernel takes the outer tag out, and tells an AF_PACKET socket its TPID."""
    back, _ = echo(kind, SERVICE_TAGGED, mtu=1500)
    assert back == SERVICE_TAGGED


def test_frames_the_kernel_would_not_take_are_drops_by_name(echo):
    """A tag may come on top of the MTU, no other bytes may."""
    tagged = raw(ETHER / Dot1Q(vlan=5, type=LOCAL) / Raw(bytes(1500)))
    back, said = echo("packet", [tagged], mtu=1500)
    assert back == [tagged]
    assert drops(said) == {}
