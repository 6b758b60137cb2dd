# SPDX-License-Identifier: Apache-2.0
"""A connection to the control socket of a running process (doc/control.md)."""

import json
from typing import Any

from perigee.connection import Connection
from perigee.errors import PerigeeError, understanding

_LONGEST_LINE = 1 << 26  # bytes


class Control(Connection):
    """A connection; requests are answered in their order. When it is closed, what it has
    attached is detached.

    `path` is the socket's, `timeout` how many seconds an answer may take.
    """

    def __init__(self, path: str, timeout: float = 30.0) -> None:
        super().__init__(path, timeout)

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """The answer to the request `do` with these arguments (None: left out).

        Raises PerigeeError with the process's sentence if it refuses.
        """
        request = {key: value for key, value in arguments.items() if value is not None}
        text = json.dumps({"do": do, **request}, ensure_ascii=False)
        self._send(text.encode(errors="surrogateescape") + b"\n")
        answer = self.line()
        if "error" in answer:
            raise PerigeeError(str(answer["error"]))
        with understanding("the process's answer"):
            return answer["answer"]

    def line(self) -> dict[str, Any]:
        """The next line that the process sends, such as a packet of a trace."""
        line = self._line(_LONGEST_LINE).decode(errors="surrogateescape")
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise PerigeeError(f"the process said {line[:60]!r}, which isn't a JSON object")
        return told

    def wait_long(self) -> None:
        """From now on what is awaited may take as long as it likes, such as packets."""
        self._socket.settimeout(None)

    def end(self) -> None:
        """Nothing more is asked: what is attached ends, and says its last words."""
        self._send(b"{}\n")

    def read(self, size: int) -> bytes:
        """The next bytes that the process sends; fewer where they end."""
        return self._heard(lambda: self._input.read(size))
