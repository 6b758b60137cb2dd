# SPDX-License-Identifier: Apache-2.0
"""Handlers of a Click configuration, through a ControlSocket: also FastClick's, or another
machine's."""

from perigee.errors import PerigeeError
from perigee.connection import Connection

_LONGEST_LINE = 65536
_MOST_DATA = 1 << 26  # bytes
_GREETING = b"Click::ControlSocket/"
_OK = range(200, 300)


class ClickSocket(Connection):
    """A connection to the ControlSocket of `perigee click -u FILE` or `-p PORT`, or of an
    element in the configuration.

    `address` is the path of the socket, or a port on this machine, or (host, port);
    `timeout` how many seconds an answer may take.
    """

    def __init__(self, address: str | int | tuple[str, int], timeout: float = 30.0) -> None:
        super().__init__(("127.0.0.1", address) if isinstance(address, int) else address,
                         timeout, "router")
        try:
            if not self._line(_LONGEST_LINE).startswith(_GREETING):
                raise PerigeeError(f"{address} isn't a ControlSocket")
        except PerigeeError:
            self.close()
            raise

    def read(self, handler: str, argument: str = "") -> str:
        """What the handler, such as "counter.count", says.

        Raises PerigeeError with the router's sentence if there is none such.
        """
        self._command("READDATA", handler, argument)
        line = self._line(_LONGEST_LINE).rstrip(b"\r\n")
        size = line[5:].decode(errors="replace") if line.startswith(b"DATA ") else ""
        if not (size.isascii() and size.isdigit() and int(size) <= _MOST_DATA):
            raise PerigeeError(f"{line[:60]!r} came in the place of DATA and a size")
        return self._bytes(int(size)).decode(errors="surrogateescape")

    def write(self, handler: str, value: str | int | float = "") -> None:
        """Write the value, which may be several lines, to the handler."""
        self._command("WRITEDATA", handler, str(value))

    def elements(self) -> list[str]:
        """The names of the elements."""
        return self.read("list").splitlines()[1:]  # the first is their number

    def configuration(self) -> str:
        """The configuration that runs."""
        return self.read("config")

    def reconfigure(self, text: str) -> None:
        """Let another configuration take the place of the one that runs; elements of the
        same name and class keep their state. The router must allow it (`click -R`), and
        goes on as it was if the text is wrong: PerigeeError says why.
        """
        self.write("hotconfig", text)

    def _command(self, command: str, handler: str, data: str) -> None:
        if not handler or any(c.isspace() for c in handler):
            raise PerigeeError(f"{handler!r} isn't the name of a handler")
        content = data.encode(errors="surrogateescape")
        self._send(f"{command} {handler} {len(content)}\r\n".encode() + content)
        code, said = self._answer()
        if code not in _OK:
            raise PerigeeError(said)

    def _answer(self) -> tuple[int, str]:
        """The code of an answer, and its lines."""
        lines = []
        while True:
            line = self._line(_LONGEST_LINE).decode(errors="replace").rstrip("\r\n")
            if not (line[:3].isascii() and line[:3].isdigit()) or line[3:4] not in (" ", "-"):
                raise PerigeeError(f"{line[:60]!r} came in the place of an answer")
            lines.append(line[4:])
            if line[3] == " ":
                return int(line[:3]), "\n".join(lines)
