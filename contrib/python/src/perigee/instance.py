# SPDX-License-Identifier: Apache-2.0
"""Processes of Perigee that run on this machine, whoever has started them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from perigee import pcapng
from perigee.control import Control
from perigee.counters import Counters
from perigee.errors import PerigeeError, understanding
from perigee.handlers import Handlers


@dataclass(frozen=True)
class Hop:
    """A packet on a link."""

    link: str
    length: int | None
    """In bytes; None: as before."""
    data: bytes | None
    """Its first bytes; None: as before."""


@dataclass(frozen=True)
class TracedPacket:
    """A packet's way through the graph (`perigee trace`)."""

    number: int
    hops: list[Hop]
    end: str
    """What became of it, such as "sent" or "dropped"."""
    app: str | None
    """Where that was."""
    reason: str | None
    """Of a packet that was dropped."""


def _traced(line: dict[str, Any]) -> TracedPacket:
    with understanding("the way of a packet"):
        hops = [Hop(hop["link"], hop.get("length"),
                    bytes.fromhex(hop["data"]) if "data" in hop else None)
                for hop in line.get("hops") or []]
        end = line["end"]
        return TracedPacket(line["number"], hops, end["what"], end.get("app"),
                            end.get("reason"))


@dataclass(frozen=True)
class Instance:
    """A running process of Perigee."""

    pid: int
    program: str
    name: str | None
    directory: str
    """Where its counters and sockets are."""
    control: str | None
    """The path of its control socket; None without one."""
    perigee: str | None = field(default=None, compare=False, repr=False)
    """The program that reads shared memory."""

    def connect(self) -> Control:
        """A connection to its control socket."""
        if not self.control:
            raise PerigeeError(f"process {self.pid} has no control socket")
        return Control(self.control)

    def info(self) -> dict[str, Any]:
        """Version, program, apps and links (doc/control.md)."""
        with self.connect() as control:
            return control.ask("info")

    def graph(self) -> dict[str, Any]:
        """Apps, links and regions, as for a picture of the graph (doc/control.md)."""
        with self.connect() as control:
            return control.ask("graph")

    def handlers(self) -> Handlers:
        """Handlers of the Click configuration that it runs."""
        return Handlers(self.connect())

    def reconfigure(self, text: str | None = None) -> dict[str, Any]:
        """Let another configuration run: the text of a graph file, None for its file read
        again, or Click's (`click -R`). Raises PerigeeError if it is refused; the former one
        goes on then.
        """
        with self.connect() as control:
            return control.ask("reconfigure", text=text)

    def counters(self) -> Counters:
        """What it has counted since it began: packets, links, apps, ports, engine."""
        with self.connect() as control:
            return Counters.of(control.ask("counters"))

    def objects(self) -> dict[str, Any]:
        """All that it has in shared memory, by path, such as "engine/breaths"; also of
        a process without a control socket.
        """
        from perigee.program import run_json
        return run_json("shm", "--json", self.pid, perigee=self.perigee)

    def trace(self, count: int = 10, *, filter: str | None = None, app: str | None = None,
              rate: int | None = None) -> Iterator[TracedPacket]:
        """The ways of `count` packets that match the `filter` (pcap-filter(7)).

        Waits for them, however long. Raises PerigeeError if the process is killed.
        """
        with self.connect() as control:
            control.ask("trace", count=count, filter=filter, app=app, rate=rate)
            control.wait_long()
            while "packet" in (line := control.line()):
                yield _traced(line["packet"])

    def capture(self, *, link: str | None = None, app: str | None = None,
                dropped: bool | None = None, filter: str | None = None,
                limit: int | None = None, snaplen: int | None = None,
                rate: int | None = None) -> Iterator[pcapng.Packet]:
        """Packets of a link, at an app, or dropped by name, up to `limit` of them.

        Waits for them, however long; the capture ends with the iterator. Raises
        PerigeeError if the process is killed.
        """
        with self.connect() as control:
            control.ask("capture", link=link, app=app, dropped=dropped, filter=filter,
                        limit=limit, snaplen=snaplen, rate=rate)
            control.wait_long()
            yield from pcapng.packets(control, with_statistics=True)


def instances(perigee: str | None = None) -> list[Instance]:
    """What runs on this machine, as far as this user may see it."""
    from perigee.program import run_json
    found = run_json("ps", "--json", perigee=perigee)
    with understanding("what perigee ps says"):
        return [Instance(i["pid"], i["program"], i.get("name"), i["directory"],
                         i.get("control"), perigee) for i in found]
