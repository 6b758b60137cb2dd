# SPDX-License-Identifier: Apache-2.0
"""Checksums and VLAN tags that apps leave to the device are right on the wire, whether
the device makes them (a TAP that is asked to) or the port does."""

import random

import pytest
from scapy.all import (ICMP, IP, TCP, UDP, Dot1Q, Ether, IPOption, IPv6, Raw, raw)

from helpers.capture import load, save
from helpers.command import PERIGEE, ROOT, perigee, running, wait_until
from helpers.network import Wire, veth

SCRIPT = ROOT / "test" / "offload.lua"
TAGGED = Ether(src="02:00:00:00:00:67", dst="02:00:00:00:00:02")
PLAIN = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
WRONG = 0xDEAD
CHECKSUMS = 0b1110  # RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, UDP and TCP


def wrong_and_right():
    """Frames with wrong checksums, and what must come out."""
    rng = random.Random(3)
    for i in range(300):
        version = rng.choice([
            lambda: IP(src=f"10.0.0.{i % 256}", dst="192.0.2.1", chksum=WRONG),
            lambda: IP(dst="192.0.2.1", chksum=WRONG, options=[IPOption(b"\x94\x04\0\0")]),
            lambda: IPv6(src="2001:db8::1", dst=f"2001:db8::{i:x}")])()
        layer4 = rng.choice([TCP(sport=i, chksum=WRONG), UDP(sport=i, chksum=WRONG),
                             TCP(chksum=WRONG, options=[("MSS", 1460)])])
        frame = rng.choice([PLAIN, TAGGED]) / version / layer4 \
            / Raw(rng.randbytes(rng.choice([0, 1, 6, 100, 1400])))
        yield raw(frame), recomputed(frame)
    icmp = PLAIN / IP(dst="192.0.2.1", chksum=WRONG) / ICMP() / Raw(b"x" * 30)
    yield raw(icmp), recomputed(icmp)


def recomputed(frame):
    """The frame with Scapy's checksums, and a tag if its source asks for one."""
    frame = frame.copy()
    for layer in IP, TCP, UDP:
        if layer in frame and frame[layer].chksum == WRONG:
            frame[layer].chksum = None
    if frame.src == TAGGED.src:
        frame.payload = Dot1Q(vlan=100, prio=5, id=1) / frame.payload
    return raw(frame)


def untouchable():
    """Frames whose headers are cut short, or not what they seem: as they are."""
    tcp = raw(PLAIN / IP(dst="192.0.2.1") / TCP(chksum=WRONG) / Raw(b"x" * 40))
    yield from (tcp[:length] for length in (14, 24, 33, 34, 53))
    yield tcp[:14] + b"\x4f" + tcp[15:60]           # 60 bytes of header
    yield tcp[:14] + b"\x42" + tcp[15:]             # 8 bytes
    yield tcp[:14] + b"\x65" + tcp[15:]             # another version
    yield tcp[:16] + b"\0\x1c" + tcp[18:]           # IP ends before TCP does
    yield raw(PLAIN / IPv6() / UDP(chksum=WRONG))[:58]


@pytest.mark.parametrize("ring", ["-", "ring:offload"])
def test_the_port_does_what_the_device_cannot(tmp_path, ring):
    wrong, right = zip(*wrong_and_right())
    cut = list(untouchable())
    a, b = save(tmp_path / "a.pcap", [*wrong, *cut]), tmp_path / "b.pcap"
    result = perigee("snsh", SCRIPT, f"pcap:rx={a},tx={b}", ring, 1)
    assert result.returncode == 0, result.stderr
    sent = list(load(b))
    assert len(sent) == len(right) + len(cut)
    for i, (got, expected) in enumerate(zip(sent, [*right, *cut])):
        assert got == expected, f"packet {i}: {Ether(got)!r}, not {Ether(expected)!r}"


def exchanged(namespace, port, wire_on, sent, offloads=0):
    with running(*namespace.command(PERIGEE, "snsh", SCRIPT, port, "-", 60)) as program:
        def up():
            assert program.read(), program.said
            return "UP" in wire_on[0].run("ip", "link", "show", wire_on[1]).stdout
        wait_until(up, wire_on[1], timeout=20)
        with Wire(*wire_on) as wire:
            wire.wait_for_echo(program)
            back = wire.exchange(sent, timeout=2)
        assert program.interrupt() == 0, program.said
        assert f"offloads: {offloads:x}\n" in program.said
    return back


@pytest.mark.parametrize("argument, offloads", [("", 0), (",offload=1", CHECKSUMS)])
def test_a_tap_device_computes_checksums_if_asked(namespace, argument, offloads):
    here = namespace()
    wrong, right = zip(*wrong_and_right())
    assert exchanged(here, "tap:tap0" + argument, (here, "tap0"), wrong,
                     offloads) == list(right)


def test_af_packet_is_helped(namespace):
    here, there = namespace(), namespace()
    veth(here, "left", there, "right", mtu=1600)
    wrong, right = zip(*wrong_and_right())
    assert exchanged(here, "packet:left", (there, "right"), wrong) == list(right)
