#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test/lying_memif.py SOCKET COUNT LIVES SEED: a memif client that lies to who serves the
socket: messages out of order, regions and rings that aren't there, descriptors out of range,
chains without end, cursors, files that are cut; at least COUNT lies in at least LIVES lives.
Ends with status 1 if the socket isn't served any more."""

import fcntl
import os
import random
import struct
import sys
import time

from helpers import memif_peer
from helpers.memif_peer import (
    BUFFER, BUFFERS_AT, BYTES, NEXT, QUIET, REGION_BYTES, SIZE, Gone, connected)

LIES_A_LIFE = 250
CONNECT_S = 20
PATIENCE_S = 0.002  # for a lie to be looked at

NUMBERS = [0, 1, 2, 3, 14, 15, 16, 255, 256, 65535]
EDGES = [0, 1, 7, 8, 127, 128, BUFFERS_AT, REGION_BYTES - 1, REGION_BYTES, REGION_BYTES + 1,
         REGION_BYTES - 60, REGION_BYTES - 59, 1 << 31, (1 << 32) - 1, (1 << 32) - 16]
LENGTHS = [0, 1, 13, 14, 59, 60, 61, 1514, 2048, 2049, 9000, 10240, 10241, 60000, 65535, 65536,
           REGION_BYTES, 1 << 31, (1 << 32) - 1]
SEALS = [fcntl.F_SEAL_SHRINK] * 3 + [0]


class Liar:
    def __init__(self, path, seed):
        self.path, self.dice, self.told = path, random.Random(seed), 0

    def odd(self, likely, choices):
        """Mostly what is right."""
        if self.dice.random() < 0.93:
            return likely
        self.told += 1
        return self.dice.choice(choices)

    # The handshake ----------------------------------------------------------------

    def file(self, peer):
        """What a peer may hand over as its memory, or a ring's eventfd."""
        kind = self.dice.randrange(6)
        if kind == 0:
            return []
        if kind == 1:
            return [peer.file, peer.events[0]]
        if kind == 2:
            return [peer.events[1]]
        if kind == 3:
            return [sys.stdin.fileno()]
        if kind == 4:
            return [peer.file] * self.dice.choice([3, 9, 100])
        return [peer.file]

    def message(self, peer):
        """Any bytes, or a message at the wrong time."""
        self.told += 1
        dice = self.dice
        if dice.random() < 0.3:
            peer.socket.send(dice.randbytes(dice.randrange(1, 300)))
        else:
            peer.say(dice.randrange(11), dice.randbytes(dice.randrange(126)),
                     self.file(peer) if dice.random() < 0.3 else [],
                     dice.choice([BYTES, BYTES, 2, 1, 127, 129, 4000]))

    def begin(self, peer):
        dice, odd = self.dice, self.odd
        peer.hear(memif_peer.HELLO)
        steps = [
            lambda: peer.init(number=odd(0, [1, 7, 1 << 31]),
                              version=odd(memif_peer.VERSION, [0, 1, 0x300]),
                              mode=odd(0, [1, 2, 255]), secret=dice.randbytes(24)),
            lambda: peer.add_region(odd(0, NUMBERS),
                                    odd(None, [0, 1, REGION_BYTES + 1, 1 << 40, -1]),
                                    odd(False, [True]) and self.file(peer) or None),
            *[lambda c2s=c2s: peer.add_ring(
                c2s, odd(0, NUMBERS), odd(0, NUMBERS), odd(None, EDGES),
                odd(memif_peer.LOG2, [0, 1, 2, 13, 14, 15, 16, 31, 255]), odd(0, NUMBERS),
                odd(False, [True]) and self.file(peer) or None) for c2s in (True, False)]]
        for step in steps:
            if dice.random() < 0.02:
                self.message(peer)
            if dice.random() < 0.02:  # left out
                self.told += 1
                continue
            step()
            peer.hear(memif_peer.ACK)
        peer.say(memif_peer.CONNECT, dice.randbytes(32))
        peer.hear(memif_peer.CONNECTED)

    # Rings ------------------------------------------------------------------------

    def descriptor(self, peer, ring, i):
        dice = self.dice
        length, offset = dice.randrange(14, 1600), peer.buffer(ring, i)
        region = flags = 0
        lie = dice.randrange(9)
        if lie == 0:
            region = dice.choice(NUMBERS)
        elif lie == 1:
            offset = dice.choice(EDGES)
        elif lie == 2:
            length = dice.choice(LENGTHS)
        elif lie == 3:
            flags = NEXT
        elif lie == 4:
            flags = dice.choice([2, 0xfffe, 0xffff])
        elif lie == 5:
            offset, length = dice.choice(EDGES), dice.choice(LENGTHS)
        elif lie == 6:  # one that is true at the region's very end
            length = dice.randrange(64)
            offset = REGION_BYTES - length
        ring.write(i, length, offset, region, flags)

    def lie(self, peer):
        """Write a descriptor, or a cursor, or change what is being read."""
        self.told += 1
        dice = self.dice
        ring = peer.send if dice.random() < 0.7 else peer.receive
        kind = dice.random()
        if kind < 0.85:
            count = dice.choice([1, 1, 2, 5])
            for i in range(ring.head, ring.head + count):
                self.descriptor(peer, ring, i)
            ring.head += count
        elif kind < 0.9:
            for _ in range(50):
                ring.write(ring.head + dice.randrange(4), dice.choice(LENGTHS),
                           dice.choice(EDGES), dice.choice(NUMBERS), dice.choice([0, NEXT]))
        elif kind < 0.92:
            ring.head += dice.choice([SIZE, SIZE + 1, 1 << 15, -1])
        elif kind < 0.96:
            ring.tail = dice.choice([0, 1, SIZE, 65535])
        elif kind < 0.98:
            ring.flags = dice.choice([0, QUIET, 65535])
        elif kind < 0.99:
            self.message(peer)
        else:
            size = dice.choice([0, 4096, BUFFERS_AT, REGION_BYTES // 2])
            try:
                os.ftruncate(peer.file, size)
            except PermissionError:  # it is sealed
                return

    def wait(self, peer):
        """Until what was offered has been taken, or for a while."""
        ends = time.monotonic() + PATIENCE_S
        while peer.send.tail != peer.send.head and time.monotonic() < ends:
            time.sleep(0.0001)

    def live(self):
        """Connect, and lie until it is let go, or for LIES_A_LIFE times."""
        with connected(self.path, seals=self.dice.choice(SEALS)) as peer:
            self.begin(peer)
            peer.give(self.dice.choice([0, 1, SIZE]))
            for i in range(LIES_A_LIFE):
                self.lie(peer)
                if os.fstat(peer.file).st_size < REGION_BYTES:
                    time.sleep(PATIENCE_S)
                    raise Gone
                self.wait(peer)
                if i % 8 == 0 and not peer.is_served():
                    raise Gone


def is_served(path):
    """Is a good peer taken, at the latest after a while?"""
    ends = time.monotonic() + CONNECT_S
    while time.monotonic() < ends:
        try:
            with connected(path) as peer:
                peer.start()
                return True
        except Gone:
            time.sleep(0.01)
    return False


def main(path, count, least, seed):
    liar, lives = Liar(path, int(seed)), 0
    while liar.told < int(count) or lives < int(least):
        lives += 1
        try:
            liar.live()
        except (Gone, OSError, struct.error):
            pass
        if lives % 50 == 0 and not is_served(path):
            break
    if not is_served(path):
        sys.exit(f"{path} isn't served any more, after {liar.told} lies in {lives} lives")
    print(f"{liar.told} lies in {lives} lives, seed {seed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
