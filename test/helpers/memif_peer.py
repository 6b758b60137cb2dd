# SPDX-License-Identifier: Apache-2.0
"""Either end of a memif socket, byte by byte (VPP's src/plugins/memif/memif.h): what a
client says and writes to the memory it brings, and what a server answers. It can say and
write what no driver would."""

import array
import contextlib
import fcntl
import mmap
import os
import socket
import struct

ACK, HELLO, INIT, ADD_REGION, ADD_RING, CONNECT, CONNECTED, DISCONNECT = range(1, 9)
BYTES, VERSION, COOKIE = 128, 0x200, 0x3E31F20
C2S, NEXT, QUIET = 1, 1, 1
HEADER, DESCRIPTOR = 128, struct.Struct("<HHIII")  # flags, region, length, offset, metadata
TIMEOUT_S = 20

LOG2, BUFFER = 8, 2048
SIZE = 1 << LOG2
RING_BYTES = HEADER + 16 * SIZE
C2S_AT, S2C_AT, BUFFERS_AT = 0, 8192, 16384
REGION_BYTES = BUFFERS_AT + 2 * SIZE * BUFFER


class Gone(Exception):
    """The other end has closed the connection; why, if it said so."""

    def __init__(self, reason=""):
        super().__init__(reason)
        self.reason = reason


def memory(size, seals=fcntl.F_SEAL_SHRINK):
    """A file in memory of that size, and its mapping."""
    file = os.memfd_create("peer", os.MFD_ALLOW_SEALING)
    os.ftruncate(file, size)
    if seals:
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals)
    return file, mmap.mmap(file, size)


class Ring:
    """A ring in a mapping, as either end sees it."""

    def __init__(self, mapping, at, size=SIZE):
        self.memory, self.at, self.size = mapping, at, size

    def clear(self):
        struct.pack_into("<IHH", self.memory, self.at, COOKIE, 0, 0)
        struct.pack_into("<H", self.memory, self.at + 64, 0)

    def write(self, i, length, offset, region=0, flags=0):
        DESCRIPTOR.pack_into(self.memory, self.at + HEADER + 16 * (i % self.size),
                             flags % (1 << 16), region % (1 << 16), length % (1 << 32),
                             offset % (1 << 32), 0)

    def read(self, i):
        return DESCRIPTOR.unpack_from(self.memory, self.at + HEADER + 16 * (i % self.size))

    def _get(self, at):
        return struct.unpack_from("<H", self.memory, self.at + at)[0]

    def _set(self, at, value):  # by one store: struct.pack_into() writes zeros first
        self.memory[self.at + at:self.at + at + 2] = struct.pack("<H", value % (1 << 16))

    flags = property(lambda self: self._get(4), lambda self, value: self._set(4, value))
    head = property(lambda self: self._get(6), lambda self, value: self._set(6, value))
    tail = property(lambda self: self._get(64), lambda self, value: self._set(64, value))


class End:
    """A connection, by which messages of 128 bytes go."""

    def __init__(self, connection):
        self.socket = connection
        self.socket.settimeout(TIMEOUT_S)

    def say(self, kind, body=b"", files=(), length=BYTES):
        data = (struct.pack("<H", kind) + body).ljust(length, b"\0")[:length]
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))]
        try:
            self.socket.sendmsg([data], rights if files else [])
        except OSError as error:
            self.why(error)

    def why(self, error):
        """Gone, with what the other end said before it went."""
        try:
            while data := self.socket.recv(BYTES):
                if struct.unpack("<H", data[:2])[0] == DISCONNECT:
                    raise Gone(data[6:102].split(b"\0")[0].decode()) from error
        except OSError:
            pass
        raise Gone from error

    def hear(self, wanted=None):
        """The next message: its type, its body and what descriptors came with it."""
        try:
            data, files, _, _ = socket.recv_fds(self.socket, BYTES, 8)
        except OSError as error:
            raise Gone from error
        if not data:
            raise Gone
        kind = struct.unpack("<H", data[:2])[0]
        if kind == DISCONNECT:
            raise Gone(data[6:102].split(b"\0")[0].decode())
        assert wanted in (None, kind), (wanted, kind)
        return kind, data[2:], files

    def is_served(self):
        """Has the other end said nothing, and not gone?"""
        self.socket.setblocking(False)
        try:
            self.hear()
        except Gone as gone:
            return isinstance(gone.__cause__, BlockingIOError)
        finally:
            self.socket.settimeout(TIMEOUT_S)
        return True

    def close(self):
        self.socket.close()


class Client(End):
    """One that connects, with a region of a C2S ring, an S2C ring and their buffers."""

    def __init__(self, path, seals=fcntl.F_SEAL_SHRINK, size=REGION_BYTES):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.connect(str(path))
        except OSError as error:
            connection.close()
            raise Gone from error
        super().__init__(connection)
        self.file, self.memory = memory(size, seals)
        self.send, self.receive = Ring(self.memory, C2S_AT), Ring(self.memory, S2C_AT)
        self.events = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(2)]
        if size >= REGION_BYTES:
            self.send.clear()
            self.receive.clear()

    def init(self, number=0, secret=b"", version=VERSION, mode=0):
        self.say(INIT, struct.pack("<HIB24s32s", version, number, mode, secret, b"liar"))

    def add_region(self, index=0, size=None, files=None):
        self.say(ADD_REGION, struct.pack("<HQ", index, len(self.memory) if size is None
                                         else size % (1 << 64)),
                 [self.file] if files is None else files)

    def add_ring(self, c2s, index=0, region=0, offset=None, log2=LOG2, private=0, files=None):
        at = (C2S_AT if c2s else S2C_AT) if offset is None else offset
        self.say(ADD_RING, struct.pack("<HHHIBH", C2S if c2s else 0, index, region,
                                       at % (1 << 32), log2, private),
                 [self.events[0 if c2s else 1]] if files is None else files)

    def start(self, **init):
        """The whole handshake, as it should be."""
        self.hear(HELLO)
        self.init(**init)
        self.hear(ACK)
        self.add_region()
        self.hear(ACK)
        for c2s in True, False:
            self.add_ring(c2s)
            self.hear(ACK)
        self.say(CONNECT, b"liar")
        self.hear(CONNECTED)
        return self

    def buffer(self, ring, i):
        """Where the buffer of a ring's slot is."""
        return BUFFERS_AT + ((0 if ring is self.send else SIZE) + i % SIZE) * BUFFER

    def give(self, count=SIZE):
        """Let the other end have buffers to send by."""
        head = self.receive.head
        for i in range(head, head + count):
            self.receive.write(i, BUFFER, self.buffer(self.receive, i))
        self.receive.head = head + count

    def offer(self, *frames):
        """Send frames, as they should be."""
        head = self.send.head
        for i, frame in enumerate(frames, head):
            at = self.buffer(self.send, i)
            self.memory[at:at + len(frame)] = frame
            self.send.write(i, len(frame), at)
        self.send.head = head + len(frames)

    def close(self):
        super().close()
        self.memory.close()
        for file in [self.file, *self.events]:
            with contextlib.suppress(OSError):
                os.close(file)


class Server(End):
    """One that took a connection, and what the client at its other end told of."""

    def __init__(self, listener):
        listener.settimeout(TIMEOUT_S)
        super().__init__(listener.accept()[0])
        self.memory = self.receive = self.send = None
        self.files = []

    def hello(self, last=0, log2=14, least=VERSION, most=VERSION):
        self.say(HELLO, struct.pack("<32sHHHHHB", b"liar", least, most, 255, last, last, log2))

    def start(self):
        """The whole handshake, as it should be."""
        self.hello()
        self.hear(INIT)
        self.say(ACK)
        _, body, files = self.hear(ADD_REGION)
        self.files += files
        self.memory = mmap.mmap(files[0], struct.unpack("<HQ", body[:10])[1])
        for _ in range(2):
            self.say(ACK)
            _, body, files = self.hear(ADD_RING)
            self.files += files
            flags, _, _, offset, log2, _ = struct.unpack("<HHHIBH", body[:13])
            ring = Ring(self.memory, offset, 1 << log2)
            if flags & C2S:
                self.receive = ring
            else:
                self.send = ring
        self.say(ACK)
        self.hear(CONNECT)
        self.say(CONNECTED, b"liar")
        return self

    def close(self):
        super().close()
        for file in self.files:
            os.close(file)
        if self.memory:
            self.memory.close()


@contextlib.contextmanager
def listening(path):
    """A socket for servers."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))
        listener.listen(16)
        yield listener


@contextlib.contextmanager
def connected(path, **options):
    """A client, closed at the end."""
    client = Client(path, **options)
    try:
        yield client
    finally:
        client.close()
