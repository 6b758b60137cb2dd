# SPDX-License-Identifier: Apache-2.0
"""A vhost-user socket before another one, which lets its first client wait."""

import socket
import struct
import threading

HEADER = struct.Struct("=III")  # of a message: request, flags, bytes that follow
MOST_FDS = 16


def carry(source, sink):
    """Messages, with the file descriptors that come with them, until either end closes."""
    try:
        while True:
            data, fds, _, _ = socket.recv_fds(source, HEADER.size, MOST_FDS)
            if not data:
                break
            size = HEADER.unpack(data)[2]
            data += source.recv(size, socket.MSG_WAITALL) if size else b""
            socket.send_fds(sink, [data], fds)
            for fd in fds:
                socket.close(fd)
    except OSError:
        pass
    for end in source, sink:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve_late(path, behind, seconds):
    """Serve one client at `path`, by the socket `behind`, so many seconds after it came."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve():
        with listener, listener.accept()[0] as client, \
                socket.socket(socket.AF_UNIX) as server:
            threading.Event().wait(seconds)
            server.connect(str(behind))
            back = threading.Thread(target=carry, args=(server, client), daemon=True)
            back.start()
            carry(client, server)
            back.join()

    threading.Thread(target=serve, daemon=True).start()
