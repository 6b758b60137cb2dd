# SPDX-License-Identifier: Apache-2.0
"""What a kernel leaves to cards, and a `packet:` port does on receipt: checksums,
segmentation, VLAN tags; and what it leaves to the kernel when it sends."""

import ipaddress
import random
import signal
import struct

import pytest
from scapy.all import (GRE, IP, SCTP, TCP, UDP, Dot1AD, Dot1Q, Ether, IPv6, Raw,
                       SCTPChunkData, raw)
from scapy.contrib.geneve import GENEVE
from scapy.layers.vxlan import VXLAN

from helpers.capture import load
from helpers.command import PERIGEE, ROOT, perigee, running
from helpers.network import Wire
from helpers.report import account

NEEDS_CSUM = 1
TCPV4, TCPV6, UDP_L4, ECN = 1, 4, 5, 0x80
OFFLOAD = struct.Struct("=BBHHHH")  # struct virtio_net_hdr
NO_OFFLOAD = bytes(OFFLOAD.size)
ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def capture(path, here, send, expected, *more, iface="left"):
    """What `perigee capture` has in its file when `send` is done."""
    with running(*here.command(PERIGEE, "capture", f"packet:{iface}", path, "--limit",
                               expected, "--duration", 20, *more)) as program:
        program.wait_for_engine()
        send()
        assert program.finish() == 0, program.said
    return list(load(path)), program.said


def offload(kind, size, start, at, flags=NEEDS_CSUM):
    return OFFLOAD.pack(flags, kind, 0, size, start, at)


def whole(headers, payload, protocol):
    """The frame as a kernel leaves it to a card: TCP or UDP has the sum over its pseudo
    header only. Gives it, and where that checksum's header begins."""
    frame = headers / Raw(payload)
    start = len(raw(headers)) - len(raw(list(expanded(headers))[-1]))
    at = start + (16 if protocol is TCP else 6)
    data = bytearray(raw(frame))
    data[at:at + 2] = struct.pack("!H", pseudo(headers, protocol, len(data) - start))
    return bytes(data), start


def pseudo(headers, protocol, length):
    """The sum over the pseudo header of the innermost IP header."""
    layers = [layer for layer in expanded(headers) if isinstance(layer, (IP, IPv6))]
    number = 6 if protocol is TCP else 17
    data = b"".join(ipaddress.ip_address(address).packed
                    for address in (layers[-1].src, layers[-1].dst))
    words = struct.unpack(f"!{len(data) // 2}H", data)
    total = sum(words) + number + length
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def expanded(packet):
    while packet:
        yield packet
        packet = packet.payload


def segments(headers, payload, size, protocol, cwr_once=True):
    """The packets that a frame of these headers is, by Scapy."""
    parts = [payload[i:i + size] for i in range(0, len(payload), size)]
    for i, part in enumerate(parts):
        packet = headers.copy()
        for layer in range(1, 3):
            if packet.getlayer(IP, layer):
                number = packet.getlayer(IP, layer)
                number.id = (number.id + i) % 2**16
        if protocol is TCP:
            tcp = packet[TCP]
            tcp.seq = (tcp.seq + i * size) % 2**32
            if i + 1 < len(parts):
                tcp.flags = str(tcp.flags).replace("P", "").replace("F", "")
            if i > 0 and cwr_once:
                tcp.flags = str(tcp.flags).replace("C", "")
        yield raw(packet / Raw(part))


V4 = IP(src="10.0.0.1", dst="10.0.0.2", id=65530, flags="DF")
V6 = IPv6(src="fd00::1", dst="fd00::2")
STREAM = TCP(sport=1234, dport=80, seq=2**32 - 5000, ack=7, flags="APF",
             options=[("NOP", None), ("NOP", None), ("Timestamp", (1, 2))])

OPEN_STREAM = STREAM.copy()
OPEN_STREAM.flags = "AP"

UNSEGMENTED = {
    "tcp4": (ETHER / V4 / STREAM, TCP, TCPV4, 1448, 60000),
    "tcp6": (ETHER / V6 / STREAM, TCP, TCPV6, 1428, 60000),
    "short": (ETHER / V4 / STREAM, TCP, TCPV4, 100, 250),
    "cwr": (ETHER / V4 / TCP(seq=1, flags="CAP"), TCP, TCPV4 | ECN, 1000, 5500),
    "accurate ecn": (ETHER / V4 / TCP(seq=1, flags="CAP"), TCP, TCPV4, 1000, 5500),
    "udp4": (ETHER / V4 / UDP(sport=5, dport=6), UDP, UDP_L4, 1000, 20500),
    "udp6": (ETHER / V6 / UDP(sport=5, dport=6), UDP, UDP_L4, 1000, 1500),
    "vlan": (ETHER / Dot1Q(vlan=5, prio=3) / V4 / STREAM, TCP, TCPV4, 1400, 30000),
    "qinq": (ETHER / Dot1AD(vlan=7) / Dot1Q(vlan=5) / V4 / STREAM, TCP, TCPV4, 1400,
             3000),
}


@pytest.mark.parametrize("case", UNSEGMENTED)
def test_an_unsegmented_frame_is_cut_up(pair, tmp_path, case):
    here, there = pair
    headers, protocol, kind, size, length = UNSEGMENTED[case]
    payload = random.Random(length).randbytes(length)
    frame, start = whole(headers, payload, protocol)
    expected = list(segments(headers, payload, size, protocol, bool(kind & ECN)))
    checksum = 16 if protocol is TCP else 6
    with Wire(there, "right", offload=True) as wire:
        got, said = capture(
            tmp_path / "a.pcap", here,
            lambda: wire.send(offload(kind, size, start, checksum) + frame),
            len(expected))
    assert len(got) == len(expected), said
    for i, (packet, right) in enumerate(zip(got, expected)):
        assert packet == right, f"{i}: {Ether(packet)!r}, not {Ether(right)!r}"


OUTER = IP(src="192.0.2.1", dst="192.0.2.2", id=9)
TUNNELLED = {
    "vxlan": (ETHER / OUTER / UDP(sport=50000, dport=4789) / VXLAN(vni=5) / ETHER / V4 / STREAM, TCP, TCPV4, 1400,
              30000),
    "vxlan over ipv6": (ETHER / IPv6(src="2001:db8::1", dst="2001:db8::2")
                        / UDP(sport=50000, dport=8472) / VXLAN(vni=5) / ETHER / V4
                        / STREAM, TCP, TCPV4, 1380, 30000),
    "gre": (ETHER / OUTER / GRE(key_present=1, key=5)
            / V4 / STREAM, TCP, TCPV4, 1400, 9000),
    "ip in ip": (ETHER / OUTER / V6 / STREAM, TCP,
                 TCPV6, 1400, 9000),
    "no checksum outside": (ETHER / OUTER / UDP(dport=4789, chksum=0) / VXLAN(vni=5)
                            / ETHER / V6 / STREAM, TCP, TCPV6, 1400, 9000),
    "geneve": (ETHER / OUTER / UDP(dport=6081) / GENEVE(vni=5, optionlen=1,
               options=b"abcd") / ETHER / V4 / STREAM, TCP, TCPV4, 1400, 9000),
}


@pytest.mark.parametrize("case", TUNNELLED)
def test_a_frame_in_a_tunnel_is_cut_up(tmp_path, case):
    """By what a packet port does with it: a kernel takes no such frame from a test."""
    headers, protocol, kind, size, length = TUNNELLED[case]
    payload = random.Random(length).randbytes(length)
    frame, start = whole(headers, payload, protocol)
    (tmp_path / "frame").write_bytes(offload(kind, size, start, 16) + frame)
    result = perigee("snsh", ROOT / "test" / "segment.lua", tmp_path / "frame")
    assert result.returncode == 0, result.stderr
    got = [bytes.fromhex(line) for line in result.stdout.split()]
    for i, (packet, right) in enumerate(
            zip(got, segments(headers, payload, size, protocol), strict=True)):
        assert packet == right, f"{i}: {Ether(packet)!r}, not {Ether(right)!r}"


def rebuilt(packet):
    """The packet with every length and checksum computed by Scapy."""
    packet = Ether(packet)
    for layer in expanded(packet):
        for field in "len", "chksum", "plen":
            if field in layer.fields and not (isinstance(layer, UDP)
                                              and layer.chksum == 0):
                delattr(layer, field)
    return raw(packet)


@pytest.mark.parametrize("family, csum", [(4, "noudpcsum"), (4, "udpcsum"),
                                          (6, "udp6zerocsumtx"), (6, "noudp6zerocsumtx")])
def test_what_a_kernels_vxlan_device_sends_is_cut_up(pair, tmp_path, family, csum):
    here, there = pair
    own, peer, length = "192.0.2.2", "192.0.2.1", 24
    if family == 6:
        there.sysctl("net.ipv6.conf.right.disable_ipv6=0")
        own, peer, length = "2001:db8::2", "2001:db8::1", 64
    there.ip("address", "add", f"{own}/{length}", "dev", "right",
             *(["nodad"] if family == 6 else []))
    there.ip("neighbor", "add", peer, "lladdr", "02:00:00:00:00:09", "dev", "right")
    there.ip("link", "add", "tunnel", "type", "vxlan", "id", "5", "dev", "right",
             "local", own, "remote", peer, "dstport", "4789", csum)
    there.ip("link", "set", "tunnel", "up")
    headers, payload = ETHER / V4 / STREAM, random.Random(1).randbytes(20000)
    frame, start = whole(headers, payload, TCP)
    expected = list(segments(headers, payload, 1300, TCP))
    with Wire(there, "tunnel", offload=True) as wire:
        got, _ = capture(tmp_path / "a.pcap", here, lambda: wire.send(
            offload(TCPV4, 1300, start, 16) + frame), len(expected),
            "--filter", "udp port 4789")
    assert [raw(Ether(packet)[VXLAN].payload) for packet in got] == expected
    assert [rebuilt(packet) for packet in got] == got
    assert all((Ether(packet)[UDP].chksum == 0) == (csum in ("noudpcsum",
               "udp6zerocsumtx")) for packet in got)


CHECKSUMS = {
    "udp": ETHER / V4 / UDP(sport=1, dport=2) / Raw(b"x" * 101),
    "udp6": ETHER / V6 / UDP(sport=1, dport=2) / Raw(b"x" * 3),
    "tcp": ETHER / V4 / STREAM / Raw(b"y" * 700),
    "udp in a vlan": ETHER / Dot1Q(vlan=9) / V4 / UDP(sport=1, dport=2) / Raw(b"x" * 60),
    "udp in a service vlan": ETHER / Dot1AD(vlan=9) / V4 / UDP() / Raw(b"x" * 60),
}


@pytest.mark.parametrize("case", CHECKSUMS)
def test_a_checksum_that_is_left_to_a_card_is_computed(pair, tmp_path, case):
    here, there = pair
    right = CHECKSUMS[case]
    protocol = TCP if TCP in right else UDP
    headers = right.copy()
    headers[protocol].remove_payload()
    frame, start = whole(headers, raw(right[protocol].payload), protocol)
    assert frame != raw(right)
    with Wire(there, "right", offload=True) as wire:
        got, _ = capture(tmp_path / "a.pcap", here, lambda: wire.send(
            offload(0, 0, start, 16 if protocol is TCP else 6) + frame), 1)
    assert got == [raw(right)]


def test_sctp_gets_its_crc(pair, tmp_path):
    here, there = pair
    right = raw(ETHER / V4 / SCTP(sport=1, dport=2) / SCTPChunkData(data=b"z" * 400))
    assert right[42:46] != bytes(4)
    frame = right[:42] + bytes(4) + right[46:]
    with Wire(there, "right", offload=True) as wire:
        got, _ = capture(tmp_path / "a.pcap", here,
                         lambda: wire.send(offload(0, 0, 34, 8) + frame), 1)
    assert got == [right]


@pytest.mark.parametrize("length", [60, 1504, 1518])
@pytest.mark.parametrize("tag", [Dot1Q, Dot1AD])
def test_a_vlan_tag_stays_as_it_was(pair, tmp_path, tag, length):
    """The kernel takes the tag out and tells its TPID."""
    here, there = pair
    inner = Dot1Q(vlan=3) / V4 / UDP(chksum=0)
    frame = raw(ETHER / tag(vlan=0xABC, prio=5) / inner)
    frame += bytes(length - len(frame) - (4 if tag is Dot1AD and length > 1514 else 0))
    with Wire(there, "right") as wire:
        got, _ = capture(tmp_path / "a.pcap", here, lambda: wire.send(frame), 1)
    assert got == [frame]


def test_segments_of_one_flow_are_sent_as_one_frame(pair):
    here, there = pair
    payload = random.Random(5).randbytes(20000)
    frame, start = whole(ETHER / V4 / OPEN_STREAM, payload, TCP)
    with Wire(there, "right", offload=True) as wire, \
            running(*here.command(PERIGEE, "echo", "packet:left", 1)) as program:
        program.wait_for_engine()
        sent = offload(TCPV4, 1448, start, 16) + frame
        wire.send(sent)
        back = wire.receive()
        assert program.interrupt() == 0, program.said
    assert OFFLOAD.unpack_from(back) == (NEEDS_CSUM, TCPV4, start + 32, 1448, start, 16)
    assert back[OFFLOAD.size:] == frame
    assert account(program.said)["sent"] == 14


def test_a_wrong_checksum_stays_wrong(pair):
    """It isn't joined with its neighbours, whose checksums the kernel makes anew."""
    here, there = pair
    frames = list(segments(ETHER / V4 / OPEN_STREAM, bytes(6000), 1000, TCP))
    frames[2] = frames[2][:-1] + b"x"
    with Wire(there, "right") as wire, \
            running(*here.command(PERIGEE, "echo", "packet:left", 1)) as program:
        wire.wait_for_echo(program)
        program.send(signal.SIGSTOP)
        for frame in frames:
            wire.send(frame)
        program.send(signal.SIGCONT)
        back = []
        while sum(len(f) - 66 for f in back) < 6000 and (frame := wire.receive(2)):
            back.append(frame)
        assert program.interrupt() == 0, program.said
    assert [len(frame) - 66 for frame in back] == [2000, 1000, 3000]
    assert back[1] == frames[2]


def test_what_cannot_be_cut_up_is_dropped_by_name(pair, tmp_path):
    """7 bytes a segment are more than 1,000 segments."""
    here, there = pair
    frame, start = whole(ETHER / V4 / STREAM, bytes(9000), TCP)
    good = raw(ETHER / V4 / UDP())
    with Wire(there, "right", offload=True) as wire:
        def send():
            wire.send(offload(TCPV4, 7, start, 16) + frame)
            wire.send(NO_OFFLOAD + good)
        got, said = capture(tmp_path / "a.pcap", here, send, 1)
    assert got == [good]
    assert "not written: 1 left to be segmented in a way not known" in said
