# SPDX-License-Identifier: Apache-2.0
"""ICMP echo requests at a steady rate, each told from the others; unlike ping(8) it waits
for late answers, so that on a busy machine nothing is lost that is only late."""

import os
import select
import socket
import struct
import threading
import time

ECHO_REPLY, ECHO_REQUEST = 0, 8  # RFC 792
LATE_S = 60


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


class Pings:
    """So many from the namespace to the address, while the `with` lasts and until all are
    answered or late; then `lost` has the numbers of those without an answer."""

    def __init__(self, namespace, address, count, interval=0.002, size=56):
        self.address, self.count, self.interval = address, count, interval
        self.ident, self.body = os.getpid() & 0xffff, bytes(size - 4)
        self.unanswered, self.sent, self.twice = set(), 0, 0
        with namespace.entered():
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_RAW,
                                        socket.IPPROTO_ICMP)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join()
        self.socket.close()

    @property
    def going_on(self):
        return self.sent < self.count

    @property
    def lost(self):
        return sorted(self.unanswered)

    def run(self):
        began = time.monotonic()
        while self.going_on:
            due = began + self.sent * self.interval
            if (left := due - time.monotonic()) <= 0:
                self.send(self.sent)
            self.receive(max(0, left))
        ends = time.monotonic() + LATE_S
        while self.unanswered and (left := ends - time.monotonic()) > 0:
            self.receive(left)

    def send(self, number):
        head = struct.pack("!BBHHHI", ECHO_REQUEST, 0, 0, self.ident, number & 0xffff,
                           number)
        head = head[:2] + struct.pack("!H", checksum(head + self.body)) + head[4:]
        self.unanswered.add(number)
        self.sent = number + 1
        self.socket.sendto(head + self.body, (self.address, 0))

    def receive(self, seconds):
        """Take in the answers that are there, waiting so long for one."""
        while select.select([self.socket], [], [], seconds)[0]:
            packet = self.socket.recv(4096)
            kind, ident, number = struct.unpack_from("!B3xH2xI", packet, 20)
            if (kind, ident) == (ECHO_REPLY, self.ident):
                self.twice += number not in self.unanswered
                self.unanswered.discard(number)
            seconds = 0
