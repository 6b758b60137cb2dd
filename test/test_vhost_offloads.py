# SPDX-License-Identifier: Apache-2.0
"""What a virtual machine may leave to its card (`vhost:PATH`): checksums, which are
computed, and no segmentation, which isn't offered."""

import contextlib
import struct

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from helpers.command import PERIGEE, running, wait_until
from helpers.vhost_peer import (
    CSUM, GET_FEATURES, GUEST_BASES, GUEST_CSUM, MRG_RXBUF, PROTOCOL_FEATURES, RECEIVE,
    SEND, VERSION_1, WRITE, Gone, Peer)

# HOST_TSO4, HOST_TSO6 and HOST_UFO: what a guest may send (virtio 1.2, section 5.1.3).
SEGMENTATION = 1 << 11 | 1 << 12 | 1 << 14
NEEDS_CSUM = 1
TCPV4 = 1  # gso_type
HEADER = struct.Struct("<BBHHHHH")  # struct virtio_net_hdr_v1
BUFFER_BYTES = 1 << 14
ETHERNET = Ether(dst="52:54:00:00:00:02", src="52:54:00:00:00:01")


@pytest.fixture
def peer(tmp_path):
    """A guest at `perigee echo`, with buffers to receive into."""
    path = tmp_path / "guest.sock"

    def connect():
        assert program.read(), program.said
        with contextlib.suppress(Gone):
            return Peer(path, size=16)

    with running(PERIGEE, "echo", f"vhost:{path}") as program:
        with contextlib.closing(wait_until(connect, "the socket")) as peer:
            yield peer
        assert program.interrupt() == 0, program.said


def start(peer, features):
    receive = peer.queues[RECEIVE]
    for slot in range(receive.size):
        receive.write(slot, GUEST_BASES[0] + peer.buffers + slot * BUFFER_BYTES,
                      BUFFER_BYTES, WRITE)
        receive.offer(slot)
    peer.start(features | VERSION_1 | PROTOCOL_FEATURES)


def echoed(peer, header, frame):
    """Send a frame behind that header; what comes back, with the header in front."""
    receive, send = peer.queues[RECEIVE], peer.queues[SEND]
    slot, before = send.index % send.size, receive.taken
    at = peer.buffers + receive.size * BUFFER_BYTES
    data = header + frame
    peer.memory[0][at:at + len(data)] = data
    send.write(slot, GUEST_BASES[0] + at, len(data))
    send.offer(slot)
    wait_until(lambda: receive.taken != before, "the frame")
    slot, size = struct.unpack_from("<II", receive.memory,
                                    receive.used + 4 + 8 * (before % receive.size))
    start = peer.buffers + slot * BUFFER_BYTES
    return peer.memory[0][start:start + size]


def without_checksum(packet):
    """The frame with its checksum left to the card (only the pseudo header's sum is in
    it), the header that says so, and the frame with the checksum."""
    whole = bytes(ETHERNET / packet)
    start = 54 if IPv6 in packet else 34
    offset = 16 if TCP in packet else 6
    length = len(whole) - start
    addresses = whole[start - 32:start] if IPv6 in packet else whole[start - 8:start]
    words = addresses + struct.pack("!HH", packet.proto if IP in packet else packet.nh,
                                    length)
    total = sum(struct.unpack(f"!{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    bare = bytearray(whole)
    struct.pack_into("!H", bare, start + offset, total)
    return HEADER.pack(NEEDS_CSUM, 0, 0, 0, start, offset, 0), bytes(bare), whole


PACKETS = {
    "TCP over IPv4": IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=1, dport=2) / b"abcde",
    "UDP over IPv4": IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2) / b"abcde",
    "TCP over IPv6": IPv6(src="fe80::1", dst="fe80::2") / TCP(sport=1, dport=2) / b"abcde",
    "UDP over IPv6": IPv6(src="fe80::1", dst="fe80::2") / UDP(sport=1, dport=2) / b"abcde",
}


def test_checksums_are_offered_and_segmentation_is_not(peer):
    offered, = struct.unpack("<Q", peer.say(GET_FEATURES))
    assert offered & CSUM and offered & GUEST_CSUM and offered & MRG_RXBUF
    assert offered & SEGMENTATION == 0
    start(peer, 0)


@pytest.mark.parametrize("features", [CSUM, CSUM | GUEST_CSUM])
def test_checksums_that_a_guest_leaves_to_its_card_are_computed(peer, features):
    """Also for one that would take packets without."""
    start(peer, features)
    for name, packet in PACKETS.items():
        header, bare, whole = without_checksum(packet)
        assert bare != whole
        back = echoed(peer, header, bare)
        assert back[HEADER.size:] == whole, name
        assert HEADER.unpack_from(back)[:2] == (0, 0), name


def test_a_frame_that_asks_for_segmentation_unasked_is_one_frame(peer):
    """No guest is told to segment what another has sent; the frame is as long as it is,
    and what is in its header is no other's."""
    start(peer, CSUM | GUEST_CSUM)
    packet = IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=1, dport=2) / bytes(4000)
    _, bare, whole = without_checksum(packet)
    back = echoed(peer, HEADER.pack(NEEDS_CSUM, TCPV4, 54, 1000, 34, 16, 0), bare)
    assert back[HEADER.size:] == whole
    assert HEADER.unpack_from(back)[1] == 0
