#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test/lying_guest.py SOCKET COUNT SEED [SECRET]: a virtual machine that lies, at a
vhost-user socket that somebody serves: descriptors out of range, loops, wrong lengths and
offsets, rings that say they hold more than they can, COUNT of them in all. Ends with status 1 if the bytes
SECRET (a word) ever come to its memory, or if the socket isn't served any more."""

import random
import struct
import sys
import time

from helpers import vhost_peer
from helpers.vhost_peer import (
    CSUM, DESCRIPTOR, EVENT_IDX, GUEST_BASES, GUEST_CSUM, INDIRECT, IS_INDIRECT, MQ,
    MRG_RXBUF, NEXT, PROTOCOL_FEATURES, RECEIVE, REGION_BYTES, SEND, VERSION_1, WRITE, Gone,
    connected)

LIES_A_LIFE = 250
SIZES = [1, 2, 4, 16, 64, 64, 256, 1024]  # of rings
PATIENCE_S = 0.002    # for a chain to be taken; a broken one never is
CONNECT_S = 20
BUFFER_BYTES = 2048
NEEDS_CSUM = 1

FEATURES = [CSUM, GUEST_CSUM, MRG_RXBUF, MQ, INDIRECT, EVENT_IDX, PROTOCOL_FEATURES, VERSION_1]
LENGTHS = [0, 1, 9, 10, 11, 12, 13, 14, 26, 46, 60, 64, 1514, 1518, 2048, 4096, 9000, 10240,
           10624, 10625, 10636, 10637, 65535, 65536, REGION_BYTES - 1, REGION_BYTES,
           REGION_BYTES + 1, 1 << 31, (1 << 32) - 1]


class Liar:
    def __init__(self, path, seed):
        self.path, self.dice = path, random.Random(seed)

    # Frames ----------------------------------------------------------------------

    def ip4(self):
        """A header whose length may be more than the packet has."""
        dice = self.dice
        length = dice.choice([5, 5, 6, 15, 0, 1])
        return struct.pack("!BBHHHBBH8s", dice.choice([4, 4, 4, 6]) << 4 | length, 0,
                           dice.choice([0, 20, 60, 65535]), 0, dice.choice([0, 0, 0x2000]),
                           64, dice.choice([6, 17, 17, 132, 47, 4, 41, 1]), 0, b"\2" * 8)

    def ip6(self):
        dice = self.dice
        extension = bytes([dice.choice([17, 6, 0, 43, 44, 60]), dice.choice([0, 1, 255])])
        return struct.pack("!IHBB32s", 6 << 28, dice.choice([0, 8, 65535]),
                           dice.choice([0, 6, 17, 43, 44, 60]), 1, b"\3" * 32) + extension

    def frame(self):
        dice = self.dice
        to = dice.choice([b"\x52\x54\0\0\0\2", b"\x52\x54\0\0\0\3", b"\xff" * 6,
                          dice.randbytes(6)])
        kind = dice.choice([b"\x08\0", b"\x08\0", b"\x86\xdd", b"\x81\0\0\7\x08\0",
                            b"\x81\0\0\7\x86\xdd", b"\x88\xa8\0\1\x81\0\0\7\x08\0",
                            b"\x88\x47", b"\x08\6", dice.randbytes(2)])
        inside = self.ip6() if kind.endswith(b"\x86\xdd") else self.ip4()
        data = to + b"\x52\x54\0\0\0\4" + kind + inside + b"L" * dice.choice([0, 4, 8, 20, 999])
        return data[:dice.choice([len(data), len(data), dice.randrange(len(data)), 34])]

    def header(self):
        """A virtio_net_hdr: flags, gso_type, hdr_len, gso_size, csum_start, csum_offset,
        num_buffers."""
        dice = self.dice
        def number():
            return dice.choice([0, 1, 6, 14, 16, 20, 33, 34, 35, 54, 74, 82, 1500, 65535])
        return struct.pack("<BBHHHHH", dice.choice([0, NEEDS_CSUM, NEEDS_CSUM, 2, 255]),
                           dice.choice([0, 0, 0, 1, 3, 4, 5, 0x80, 0x81, 255]), number(),
                           number(), number(), number(), dice.choice([0, 1, 65535]))

    # Rings -----------------------------------------------------------------------

    def address(self, peer):
        """Mostly of a buffer; else of a ring, at an end of the memory, or outside."""
        dice, (low, high) = self.dice, GUEST_BASES
        buffer = low + peer.buffers + BUFFER_BYTES * dice.randrange(32)
        if dice.random() < 0.6:
            return buffer
        edge = dice.choice([low, low + REGION_BYTES, high, high + REGION_BYTES, 0, 1 << 64])
        return dice.choice([
            edge + dice.choice([-4096, -64, -13, -12, -1, 0, 1, 63]),
            low + dice.choice(peer.queues).table + dice.randrange(4096),
            dice.getrandbits(64), buffer + dice.randrange(64)])

    def length(self):
        dice = self.dice
        return dice.choice(LENGTHS) if dice.random() < 0.5 else dice.randrange(12, 1600)

    def fill(self, peer, address):
        """Put a packet there, if that is memory."""
        data = self.header()[:peer.header_bytes] + self.frame()
        for base, memory in zip(GUEST_BASES, peer.memory):
            at = address - base
            if 0 <= at and at + len(data) <= REGION_BYTES and \
                    (base != GUEST_BASES[0] or at >= peer.buffers):
                memory[at:at + len(data)] = data
                return len(data)
        return self.length()

    def table(self, peer, number):
        """An indirect table in a buffer; how long it is said to be."""
        dice = self.dice
        at = peer.buffers + BUFFER_BYTES * 32
        size = peer.queues[number].size
        entries = dice.choice([0, 1, 2, min(size, 64)])
        for i in range(entries):
            flags = dice.choice([0, NEXT, NEXT | WRITE, IS_INDIRECT | NEXT])
            DESCRIPTOR.pack_into(peer.memory[0], at + 16 * i,
                                 self.address(peer) % (1 << 64), self.length(), flags,
                                 dice.choice([i + 1, i, 0, 65535]))
        length = dice.choice([16 * entries, 16 * entries + 1, 15, 16 * size + 16, 1 << 31])
        return GUEST_BASES[0] + at, length

    def lie(self, peer, queue):
        """Write a chain of descriptors, and offer it."""
        dice = self.dice
        size = queue.size
        head, links = dice.randrange(size), min(dice.choice([1, 1, 1, 1, 2, 3, 64]), size)
        wanted = WRITE if queue.number == RECEIVE else 0
        for i in range(links):
            slot, last = (head + i) % size, i == links - 1
            address, flags = self.address(peer), wanted
            length = self.fill(peer, address) if dice.random() < 0.6 else self.length()
            if dice.random() < 0.1:
                address, length = self.table(peer, queue.number)
                flags |= IS_INDIRECT
            if dice.random() < 0.05:
                flags ^= dice.choice([WRITE, 0xfff0])
            following = (slot + 1) % size
            if not last or dice.random() < 0.05:  # the last one's: a loop, or outside
                flags |= NEXT
            if last or dice.random() < 0.02:
                following = dice.choice([head, slot, size, 65535])
            queue.write(slot, address, length, flags, following)
        if queue.taken != queue.index:
            queue.repeat(dice.choice([head, head, head, size, 65535]))
        else:
            queue.offer(dice.choice([head] * 19 + [size]),
                        dice.choice([1] * 30 + [2, size, size + 1, 1 << 15]))
        ends = time.monotonic() + PATIENCE_S
        while queue.taken != queue.index and time.monotonic() < ends:
            time.sleep(0.0001)

    def rings(self, peer, count):
        for i in range(count):
            queue = peer.queues[RECEIVE if self.dice.random() < 0.3 else SEND]
            self.lie(peer, queue)
            if i % 20 == 19:  # as a guest that boots: else a broken ring stays so
                self.restart(peer)

    def restart(self, peer):
        for queue in peer.queues:
            peer.say(vhost_peer.GET_VRING_BASE, struct.pack("<II", queue.number, 0))
            peer.memory[0][queue.available:queue.end] = bytes(queue.end - queue.available)
            queue.index = 0
        for queue in peer.queues:
            for step in peer.queue_steps(queue):
                peer.say(*step)

    # Lives -----------------------------------------------------------------------

    def features(self):
        chosen = sum(bit for bit in FEATURES if self.dice.random() < 0.6)
        return chosen if self.dice.random() < 0.9 else self.dice.getrandbits(64)

    def live(self, count, secret):
        """Connect, and tell up to so many lies; how many, and whether a secret came."""
        count = min(count, LIES_A_LIFE)
        with connected(self.path, size=self.dice.choice(SIZES),
                       at_end=self.dice.random() < 0.5) as peer:
            peer.start(self.features())
            self.rings(peer, count)
            return count, any(memory.find(secret) >= 0 for memory in peer.memory)


def served(path):
    """Is the socket served, at the latest after a while?"""
    ends = time.monotonic() + CONNECT_S
    while time.monotonic() < ends:
        try:
            with connected(path) as peer:
                peer.say(vhost_peer.GET_FEATURES)
                return True
        except Gone:
            time.sleep(0.05)
    return False


def main(path, count, seed, secret="no such bytes"):
    liar, told, lives = Liar(path, int(seed)), 0, 0
    while told < int(count):
        try:
            n, leaked = liar.live(int(count) - told, secret.encode())
        except Gone:
            if not served(path):
                sys.exit(f"{path} isn't served any more, after {told} lies")
            continue
        if leaked:
            sys.exit(f"{secret!r} came to the guest's memory, after {told} lies")
        told, lives = told + n, lives + 1
    if not served(path):
        sys.exit(f"{path} isn't served any more")
    print(f"{told} lies in {lives} lives, seed {seed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
