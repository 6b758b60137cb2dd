# SPDX-License-Identifier: Apache-2.0
"""A connection to a process: what is sent and heard, and what goes wrong as sentences."""

import contextlib
import socket
from types import TracebackType
from typing import BinaryIO, Self

from perigee.errors import ConnectionEnded, PerigeeError

Address = str | tuple[str, int]


class Connection:
    """A connection to the Unix socket of a path, or to (host, port). `timeout`: how many
    seconds a line or bytes may take; `whose`: who is at the other end, for sentences.
    """

    def __init__(self, address: Address, timeout: float, whose: str = "process") -> None:
        self._whose = whose
        self._socket = socket.socket(
            socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        try:
            self._socket.settimeout(timeout)
            self._socket.connect(address)
        except OSError as error:
            self._socket.close()
            raise PerigeeError(
                f"can't connect to {address}: {error.strerror or error}") from error
        self._input: BinaryIO = self._socket.makefile("rb")

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except TimeoutError:
            raise PerigeeError(f"the {self._whose} doesn't answer") from None
        except OSError:
            raise self._ended() from None

    def _ended(self) -> ConnectionEnded:
        return ConnectionEnded(f"the {self._whose} has ended")

    def _line(self, most: int = -1) -> bytes:
        """The next line with its end, of up to `most` bytes."""
        line = self._heard(lambda: self._input.readline(most))
        if not line.endswith(b"\n"):
            raise (PerigeeError(f"a line of over {most} bytes came") if len(line) == most
                   else self._ended())
        return line

    def _bytes(self, size: int) -> bytes:
        data = self._heard(lambda: self._input.read(size))
        if len(data) < size:
            raise self._ended()
        return data

    def _heard(self, read) -> bytes:
        try:
            return read()
        except TimeoutError:
            raise PerigeeError(f"the {self._whose} doesn't answer") from None
        except ConnectionError:
            raise self._ended() from None
        except OSError as error:
            raise PerigeeError(f"the {self._whose} can't be heard: {error}") from error

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(OSError):
            self._input.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()
