# SPDX-License-Identifier: Apache-2.0
"""A virtual machine that lies (lying_guest.py) at `perigee nfv`: the switch goes on, its
other guests lose nothing, and nothing of theirs gets to it."""

import os
import random
import re
import struct
import sys

import pytest

from helpers import vhost_peer
from helpers.command import ROOT, TIMEOUT_S, running, wait_until
from helpers.nfv import Bench, numbers, port, stream
from helpers.vhost_peer import CSUM, GUEST_BASES, MRG_RXBUF, VERSION_1, connected

LONG = bool(os.environ.get("PERIGEE_LONG"))
LIES, TIMEOUT_LONG_S = (100_000, 1800) if LONG else (1_500, 120)
RATE = 100 if LONG else 1000  # packets a second of the other guests
FRAMES = 2 * RATE * TIMEOUT_LONG_S if LONG else 100_000  # more than there is time for
FIXED_SEED = 17
SECRET = "only-for-B"
LIAR = "52:54:00:00:00:04"


@pytest.fixture
def bench(tmp_path):
    """A and B of a VLAN, and C and the liar of another."""
    bench = Bench(tmp_path)
    bench.write(port("A", vlan=3), port("B", vlan=3),
                port("C", vlan=7, mac_address="52:54:00:00:00:03"),
                port("liar", vlan=7, mac_address=LIAR))
    return bench


def lie(bench, seed):
    frames = [frame + SECRET.encode() for frame in stream(FRAMES)]
    bench.send("A", frames)
    to_liar = bytes.fromhex(LIAR.replace(":", "")) + b"\x52\x54\0\0\0\3\x88\xb5"
    bench.send("C", [to_liar + b"C" * (1400 if n % 16 == 0 else 46 + n % 100)
                     for n in range(FRAMES)])
    with bench.nfv() as nfv:
        nfv.wait_for("nfv traffic:")
        with bench.guests("A", "B", "C", rate=RATE) as guests:
            bench.wait_for("B", 10, nfv, guests)
            with running(sys.executable, ROOT / "test" / "lying_guest.py",
                         bench.folder / "liar.sock", LIES, seed, SECRET) as liar:
                status = liar.finish(TIMEOUT_LONG_S)
                nfv.read()
                assert status == 0, (seed, liar.said, nfv.said)
            before = len(bench.got("B"))
            bench.wait_for("B", before + 100, nfv, guests)
            assert guests.interrupt() == 0, guests.said
        assert nfv.interrupt() == 0, nfv.said
    got = bench.got("B")
    assert set(got) <= set(frames)
    assert numbers(got) == list(range(len(got)))
    assert not [data for data in bench.got("C") if SECRET.encode() in data]


def test_lies_of_a_fixed_seed(bench):
    lie(bench, FIXED_SEED)


def test_lies_of_another_seed(bench):
    lie(bench, random.randrange(2**31))


def send(peer, header, data, slot=0):
    """Let the guest send a packet, and wait until that has been taken."""
    queue = peer.queues[vhost_peer.SEND]
    peer.memory[0][peer.buffers:peer.buffers + len(header + data)] = header + data
    queue.write(slot, GUEST_BASES[0] + peer.buffers, len(header + data))
    queue.offer(slot)
    wait_until(lambda: queue.taken == queue.index, "the packet")


def test_checksums_that_are_left_to_the_card(bench):
    """Computed as the packet is received; an IP header that is longer than the packet has
    none, and harms nobody."""
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether
    whole = bytes(Ether(src=LIAR, dst="52:54:00:00:00:03") / IP(src="10.0.0.1", dst="10.0.0.2")
                  / UDP(sport=5, dport=6) / b"odd")
    broken = whole[:14] + b"\x4f" + whole[15:]
    source, destination = whole[26:30], whole[30:34]
    pseudo = sum(struct.unpack("!6H", source + destination + b"\0\x11" + whole[38:40]))
    pseudo = (pseudo & 0xffff) + (pseudo >> 16)
    left = whole[:40] + struct.pack("!H", pseudo) + whole[42:]
    with bench.nfv() as nfv:
        nfv.wait_for("nfv traffic:")
        with bench.guests("C") as guests, connected(bench.folder / "liar.sock") as peer:
            peer.start(CSUM | VERSION_1)
            header = struct.pack("<BBHHHHH", 1, 0, 0, 0, 34, 6, 0)
            send(peer, header, broken[:45])
            send(peer, header, left)
            got = bench.wait_for("C", 2, nfv, guests)
            assert got[1] == whole
        assert nfv.interrupt() == 0, nfv.said


def test_checksums_of_other_protocols(bench):
    """Computed from where the guest says, and put where it says: if both are in the packet.
    """
    data = bytes.fromhex("525400000003525400000004") + b"\x88\xb5" + bytes(range(1, 50))
    end = len(data)
    assert end % 2 == 1

    def summed(start, at):
        padded = data[start:] + b"\0" * (len(data[start:]) % 2)
        total = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
        while total >> 16:
            total = (total & 0xffff) + (total >> 16)
        return data[:at] + struct.pack("!H", ~total & 0xffff) + data[at + 2:]
    cases = [(start, at, summed(start, at)) for start, at in
             [(14, 14), (15, 30), (14, end - 2), (end - 2, end - 2), (end - 1, 20)]]
    cases += [(start, at, data) for start, at in
              [(14, end - 1), (14, end), (end, end), (end + 1, 14), (65535, 14)]]
    with bench.nfv() as nfv:
        nfv.wait_for("nfv traffic:")
        with bench.guests("C") as guests, connected(bench.folder / "liar.sock") as peer:
            peer.start(CSUM | VERSION_1)
            for start, at, _ in cases:
                send(peer, struct.pack("<BBHHHHH", 1, 0, 0, 0, start, (at - start) % (1 << 16), 0),
                     data)
            got = bench.wait_for("C", len(cases), nfv, guests)
            assert [d.hex() for d in got] == [wanted.hex() for _, _, wanted in cases], nfv.said
        assert nfv.interrupt() == 0, nfv.said
    assert f"ipackets {len(cases)}  ibytes {len(cases) * end} " in nfv.said, nfv.said


@pytest.mark.parametrize("number", [vhost_peer.SEND, vhost_peer.RECEIVE])
def test_more_buffers_than_the_ring_has(bench, number):
    """The port is shut, with a sentence, until the guest is sane again."""
    bench.send("C", [bytes.fromhex(LIAR.replace(":", "")) + b"\x52\x54\0\0\0\3\x88\xb5"
                     + bytes(1000)] * 1000)
    with bench.nfv() as nfv:
        nfv.wait_for("nfv traffic:")
        with bench.guests("C", rate=1000), connected(bench.folder / "liar.sock") as peer:
            peer.start(MRG_RXBUF | VERSION_1)
            queue = peer.queues[number]
            size = len(peer.memory[0])
            flags = 0 if number == vhost_peer.SEND else vhost_peer.WRITE
            for slot in range(queue.size):  # the shortest, at the end of the memory
                queue.write(slot, GUEST_BASES[0] + size - 13, 13, flags)
            queue.repeat(0)

            def shut():
                queue.claim(30_000)
                assert nfv.read(), nfv.said
                return "its port is shut until it resets its card" in nfv.said
            wait_until(shut, "the sentence")
        with connected(bench.folder / "liar.sock") as peer, bench.guests("C") as guests:
            peer.start(VERSION_1)
            wait_until(lambda: nfv.read() and guests.read(), "both")
            send(peer, bytes(12), bytes.fromhex("525400000003525400000004") + b"\x88\xb5sane")
            bench.wait_for("C", 1, nfv, guests, timeout=TIMEOUT_S)
        assert nfv.interrupt() == 0, nfv.said


def test_memory_that_is_not_there(bench):
    """It would end the switch by SIGBUS."""
    with bench.nfv() as nfv:
        nfv.wait_for("nfv traffic:")
        with connected(bench.folder / "liar.sock", told=1 << 40) as peer:
            with pytest.raises(vhost_peer.Gone):
                peer.start(VERSION_1)
                peer.say(vhost_peer.GET_FEATURES)
        told = re.compile("announces 1099511627776 bytes of memory in a file that has 1048576"
                          "|0x10000000000.* exceeds backing file size")  # DPDK 24.11.8 itself
        wait_until(lambda: nfv.read() and told.search(nfv.said), "the sentence")
        assert nfv.interrupt() == 0, nfv.said
