# SPDX-License-Identifier: Apache-2.0
"""A network between two hosts of a test that can be cut, also within what is sent, or hold
all back."""

import contextlib
import socket
import struct
import threading

NOW = struct.pack("ii", 1, 0)  # SO_LINGER: a reset


class CutProxy:
    """Whoever connects to `port` speaks with what listens at the port that is given."""

    def __init__(self, to):
        self.to, self.left, self.spoils, self.lock = to, None, False, threading.Lock()
        self.passes = threading.Event()
        self.passes.set()
        self.pairs = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.socket()
                try:
                    far.connect(("127.0.0.1", self.to))
                except OSError:
                    near.close()
                    continue
                with self.lock:
                    self.pairs.add((near, far))
                for ends in (near, far), (far, near):
                    threading.Thread(target=self.carry, args=(*ends, (near, far)),
                                     daemon=True).start()

    def carry(self, source, target, pair):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self.passes.wait()
                due = self.due(len(data))
                target.sendall(self.spoiled(data[:due]))
                if due < len(data):
                    break
        self.close(pair)

    def due(self, n):
        """How many of so many bytes pass before the cut."""
        with self.lock:
            if self.left is None:
                return n
            due, self.left = min(n, self.left), self.left - n
            if self.left < 0:
                self.left = None
            return due

    def spoiled(self, data):
        """What is passed on of the data: with a wrong byte, if spoil() was called."""
        with self.lock:
            spoils, self.spoils = self.spoils, False
        return data[:-1] + bytes([data[-1] ^ 1]) if spoils and data else data

    def spoil(self):
        """One of the bytes that come from now on is another one."""
        with self.lock:
            self.spoils = True

    def close(self, pair, how=None):
        with self.lock:
            self.pairs.discard(pair)
        for end in pair:
            with contextlib.suppress(OSError):
                if how:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, how)
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def cut(self, how=None):
        """End all connections; `how`: NOW, or as by close()."""
        with self.lock:
            pairs = list(self.pairs)
        for pair in pairs:
            self.close(pair, how)

    def cut_after(self, n):
        """The connection to which so many bytes have come from now on ends there."""
        with self.lock:
            self.left = n

    def hold(self):
        self.passes.clear()

    def go_on(self):
        self.passes.set()

    def end(self):
        self.go_on()
        self.listener.close()
        self.cut()
