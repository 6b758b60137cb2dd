# SPDX-License-Identifier: Apache-2.0
"""Packets of a stream of pcapng (draft-ietf-opsawg-pcapng), as captures send it."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from perigee.errors import PerigeeError

SECTION, INTERFACE, STATISTICS, PACKET = 0x0A0D0D0A, 1, 5, 6
COMMENT, NAME, RESOLUTION = 1, 2, 9
BYTE_ORDER = 0x1A2B3C4D
LONGEST_BLOCK = 1 << 20


class Stream(Protocol):
    """What is read from: an open file, or a connection."""

    def read(self, size: int, /) -> bytes:
        """The next bytes; fewer where they end."""


@dataclass(frozen=True)
class Packet:
    """A captured packet."""

    time: float
    """When, in seconds since 1970."""
    interface: str
    """The link, or what it was captured at."""
    length: int
    """Its bytes; `data` has fewer of them if they were cut."""
    data: bytes
    comment: str | None = None
    """Such as "dropped by APP: REASON"."""

    def scapy(self) -> Any:
        """The same as a packet of Scapy, which must be installed."""
        from scapy.layers import inet, inet6, l2
        del inet, inet6  # loaded, they say what follows an Ethernet header
        packet = l2.Ether(self.data)
        packet.time = self.time
        return packet


def _read(stream: Stream, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise PerigeeError("the capture ends within a block")
    return data


def _options(data: bytes, order: str) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while len(data) >= 4:
        code, size = struct.unpack_from(order + "HH", data)
        if code == 0:
            break
        found.setdefault(code, data[4:4 + size])
        data = data[4 + size + -size % 4:]
    return found


def _resolution(options: dict[int, bytes]) -> float:
    value = (options.get(RESOLUTION) or b"\x06")[0]
    return 2.0 ** -(value & 0x7F) if value & 0x80 else 10.0 ** -value


def packets(stream: Stream, *, with_statistics: bool = False) -> Iterator[Packet]:
    """The packets of the stream, as they come; raises PerigeeError if it is cut.

    `with_statistics`: it is cut, too, if it ends without them.
    """
    order, interfaces = "<", []
    while head := stream.read(8):
        if len(head) < 8:
            raise PerigeeError("the capture ends within a block")
        kind = struct.unpack_from(order + "I", head)[0]
        mark = b""
        if kind == SECTION:
            mark = _read(stream, 4)
            order = "<" if struct.unpack("<I", mark)[0] == BYTE_ORDER else ">"
            interfaces = []
        size = struct.unpack(order + "I", head[4:])[0]
        if size % 4 or not 12 + len(mark) <= size <= LONGEST_BLOCK:
            raise PerigeeError(f"a block of the capture has {size} bytes")
        body = _read(stream, size - 12 - len(mark))
        _read(stream, 4)
        if kind == INTERFACE:
            options = _options(body[8:], order)
            interfaces.append((options.get(NAME, b"").decode(errors="replace"),
                               _resolution(options)))
        elif kind == PACKET:
            yield _packet(body, order, interfaces)
        elif kind == STATISTICS:
            with_statistics = False
    if with_statistics:
        raise PerigeeError("the capture ends before its statistics: the process has ended")


def _packet(body: bytes, order: str, interfaces: list[tuple[str, float]]) -> Packet:
    if len(body) < 20:
        raise PerigeeError("a packet's block in the capture is too short")
    number, high, low, kept, length = struct.unpack_from(order + "5I", body)
    if number >= len(interfaces) or kept > len(body) - 20:
        raise PerigeeError("a packet of the capture has no such interface, or too few bytes")
    name, resolution = interfaces[number]
    comment = _options(body[20 + kept + -kept % 4:], order).get(COMMENT)
    return Packet((high << 32 | low) * resolution, name, length, body[20:20 + kept],
                  comment.decode(errors="replace") if comment else None)
