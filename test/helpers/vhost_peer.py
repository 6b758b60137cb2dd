# SPDX-License-Identifier: Apache-2.0
"""The guest's end of a vhost-user socket, byte by byte: what QEMU says and what a virtual
machine writes to its memory (QEMU's docs/interop/vhost-user.rst; virtio 1.2, sections 2.7
and 5.1). It can say and write what no QEMU would."""

import array
import contextlib
import itertools
import mmap
import os
import socket
import struct

# Requests of the protocol.
(GET_FEATURES, SET_FEATURES, SET_OWNER, RESET_OWNER, SET_MEM_TABLE, SET_LOG_BASE, SET_LOG_FD,
 SET_VRING_NUM, SET_VRING_ADDR, SET_VRING_BASE, GET_VRING_BASE, SET_VRING_KICK,
 SET_VRING_CALL, SET_VRING_ERR, GET_PROTOCOL_FEATURES, SET_PROTOCOL_FEATURES, GET_QUEUE_NUM,
 SET_VRING_ENABLE) = range(1, 19)
ANSWERED = {GET_FEATURES, GET_VRING_BASE, GET_PROTOCOL_FEATURES, GET_QUEUE_NUM}
VERSION = 1

# Feature bits.
CSUM, GUEST_CSUM, MRG_RXBUF, MQ, INDIRECT, EVENT_IDX, PROTOCOL_FEATURES, VERSION_1, PACKED = \
    (1 << bit for bit in (0, 1, 15, 22, 28, 29, 30, 32, 34))

# Flags of descriptors.
NEXT, WRITE, IS_INDIRECT = 1, 2, 4

RECEIVE, SEND = 0, 1  # the queues of the first pair, as the guest sees them
REGION_BYTES = 1 << 20
GUEST_BASES = 0x100000, 0x40000000  # guest physical addresses: a hole is between them
USER_BASES = 0x7F0000000000, 0x7F8000000000
DESCRIPTOR = struct.Struct("<QIHH")
MESSAGE = struct.Struct("<III")
TIMEOUT_S = 10


class Gone(Exception):
    """The other end has closed the connection, or says no more."""


class Queue:
    """A split virtqueue in the first region of the memory, at this offset, or (-1) at its
    end."""

    def __init__(self, peer, number, size, at):
        self.memory, self.number, self.size = peer.memory[0], number, size
        available = 16 * size
        used = (available + 6 + 2 * size + 3) & ~3
        end = used + 6 + 8 * size
        if at < 0:
            at = REGION_BYTES - ((end + 15) & ~15)
            used = REGION_BYTES - at - (6 + 8 * size) & ~3
        self.table, self.available, self.used, self.end = at, at + available, at + used, at + end
        self.index = 0  # of the ring of available buffers, as the guest has told it

    def write(self, slot, address, length, flags=0, following=0):
        """Write a descriptor."""
        DESCRIPTOR.pack_into(self.memory, self.table + 16 * slot, address % (1 << 64),
                             length % (1 << 32), flags, following)

    def offer(self, head, count=1):
        """Make the chain that begins at that descriptor available, `count` times over."""
        for i in range(min(count, self.size)):
            at = self.available + 4 + 2 * ((self.index + i) % self.size)
            struct.pack_into("<H", self.memory, at, head)
        self.tell((self.index + count) % (1 << 16))

    def tell(self, index):
        """Say how many there are, by one store: struct.pack_into() writes zeros first."""
        self.index = index
        self.memory[self.available + 2:self.available + 4] = struct.pack("<H", index)

    def claim(self, count):
        """Say that so many chains wait, whatever there is room for."""
        self.tell((self.taken + count) % (1 << 16))

    def repeat(self, head):
        """Put another chain in the place of those that are still to be looked at."""
        for i in range(self.size):
            struct.pack_into("<H", self.memory, self.available + 4 + 2 * i, head)

    @property
    def taken(self):
        """How many chains the other end has used, modulo 2^16."""
        return struct.unpack("<H", self.memory[self.used + 2:self.used + 4])[0]


class Peer:
    """A connection to who serves the socket, two regions of memory and pairs of queues
    of that size; the last one's rings may lie at the memory's end. Each region is said to
    have the bytes `told`."""

    def __init__(self, path, pairs=1, size=64, at_end=False, told=REGION_BYTES):
        self.files = [os.memfd_create("guest") for _ in GUEST_BASES]
        for file in self.files:
            os.ftruncate(file, REGION_BYTES)
        self.told = told
        self.memory = [mmap.mmap(file, REGION_BYTES) for file in self.files]
        self.queues = []
        at = 0
        for number in range(2 * pairs):
            last = at_end and number == 2 * pairs - 1
            self.queues.append(Queue(self, number, size, -1 if last else at))
            at = at if last else (self.queues[-1].end + 4095) & ~4095
        self.buffers = at  # of the first region: free from here on
        self.events = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(4 * pairs)]
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(TIMEOUT_S)
        try:
            self.socket.connect(str(path))
        except OSError as error:
            self.close()
            raise Gone from error

    def close(self):
        self.socket.close()
        for memory in self.memory:
            memory.close()
        for file in itertools.chain(self.files, self.events):
            os.close(file)

    def say(self, request, payload=b"", fds=(), flags=VERSION, size=None):
        """Send a message; the answer's payload, where there is one."""
        header = MESSAGE.pack(request, flags, len(payload) if size is None else size)
        try:
            self.socket.sendmsg([header + payload], [(
                socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
            if request not in ANSWERED:
                return None
            _, _, size = MESSAGE.unpack(self.receive(MESSAGE.size))
            return self.receive(size)
        except OSError as error:
            raise Gone from error

    def receive(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise Gone
            data += more
        return data

    def regions(self):
        """The payload of SET_MEM_TABLE."""
        return struct.pack("<II", len(self.files), 0) + b"".join(
            struct.pack("<QQQQ", guest, self.told, user, 0)
            for guest, user in zip(GUEST_BASES, USER_BASES))

    def addresses(self, queue):
        """The payload of SET_VRING_ADDR."""
        base = USER_BASES[0]
        return struct.pack("<IIQQQQ", queue.number, 0, base + queue.table, base + queue.used,
                           base + queue.available, 0)

    def steps(self, features):
        """What makes the device ready: (request, payload, descriptors) one after another,
        with these of the features that are offered."""
        offered, = struct.unpack("<Q", self.say(GET_FEATURES))
        self.features = features & offered
        yield SET_OWNER, b"", ()
        yield SET_FEATURES, struct.pack("<Q", self.features), ()
        yield SET_MEM_TABLE, self.regions(), self.files
        for queue in self.queues:
            yield from self.queue_steps(queue)

    def queue_steps(self, queue):
        """The same for a queue, at first or again."""
        pair = self.events[2 * queue.number:]
        yield SET_VRING_NUM, struct.pack("<II", queue.number, queue.size), ()
        yield SET_VRING_BASE, struct.pack("<II", queue.number, 0), ()
        yield SET_VRING_ADDR, self.addresses(queue), ()
        yield SET_VRING_CALL, struct.pack("<Q", queue.number), pair[:1]
        yield SET_VRING_KICK, struct.pack("<Q", queue.number), pair[1:2]
        if self.features & PROTOCOL_FEATURES:
            yield SET_VRING_ENABLE, struct.pack("<II", queue.number, 1), ()

    def start(self, features):
        for step in self.steps(features):
            self.say(*step)

    @property
    def header_bytes(self):
        """Of what is before each packet (virtio_net_hdr)."""
        return 12 if self.features & (MRG_RXBUF | VERSION_1) else 10


@contextlib.contextmanager
def connected(path, **options):
    peer = Peer(path, **options)
    try:
        yield peer
    finally:
        peer.close()
