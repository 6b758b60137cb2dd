# SPDX-License-Identifier: Apache-2.0
"""A connection to the control socket of a running process (doc/control.md)."""

import json
import socket
from types import TracebackType
from typing import Any, BinaryIO, Self

from perigee.errors import PerigeeError


class Control:
    """A connection; requests are answered in their order.

    `path` is the socket's, `timeout` how many seconds an answer may take.
    """

    def __init__(self, path: str, timeout: float = 30.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(timeout)
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise PerigeeError(f"can't connect to {path}: {error.strerror}") from error
        self._input: BinaryIO = self._socket.makefile("rb")

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """The answer to the request `do` with these arguments (None: left out).

        Raises PerigeeError with the process's sentence if it refuses.
        """
        request = {key: value for key, value in arguments.items() if value is not None}
        text = json.dumps({"do": do, **request}, ensure_ascii=False)
        try:
            self._socket.sendall(text.encode(errors="surrogateescape") + b"\n")
        except OSError:
            raise PerigeeError("the process has ended") from None
        answer = self.line()
        if "error" in answer:
            raise PerigeeError(answer["error"])
        return answer["answer"]

    def line(self) -> dict[str, Any]:
        """The next line that the process sends, such as a packet of a trace."""
        try:
            text = self._input.readline()
        except TimeoutError:
            raise PerigeeError("the process doesn't answer") from None
        except OSError as error:
            raise PerigeeError(f"the process can't be heard: {error}") from error
        if not text.endswith(b"\n"):
            raise PerigeeError("the process has ended")
        return json.loads(text.decode(errors="surrogateescape"))

    def wait_long(self) -> None:
        """From now on what is awaited may take as long as it likes, such as packets."""
        self._socket.settimeout(None)

    def end(self) -> None:
        """Nothing more is asked: what is attached ends, and says its last words."""
        self._socket.sendall(b"{}\n")

    @property
    def input(self) -> BinaryIO:
        """The bytes that the process sends."""
        return self._input

    def close(self) -> None:
        """Close the connection: what it has attached is detached."""
        self._input.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()
