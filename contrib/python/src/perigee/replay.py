# SPDX-License-Identifier: Apache-2.0
"""`perigee replay`: a capture's packets to one port or, by sides, to two."""

from typing import Any

from perigee.measurement import Measurement
from perigee.reports import ReplayReport


class Replay(Measurement):
    """A run of `perigee replay`, until the `with` ends.

    The keywords are its options (src/program/replay/README.md), with underscores:
    Replay("a.pcap", "packet:veth0", speed=2, map_ip="10.0.0.0/8:172.16.0.0/12").
    """

    def __init__(self, file: object, port: str, port2: str | None = None, *,
                 perigee: str | None = None, **options: Any) -> None:
        ports = [port] if port2 is None else [port, port2]
        super().__init__("replay", file, *ports, options=options, perigee=perigee)

    def set_rate(self, rate: str) -> None:
        """Send at another rate, such as "500kpps" or "1Gbps"."""
        self.ask("rate", rate=rate)

    def set_speed(self, speed: float) -> None:
        """Send so many times as fast as recorded."""
        self.ask("rate", speed=f"{speed:.15g}")

    def report(self) -> ReplayReport:
        """Wait for the end, and read the results. Raises PerigeeError if it failed."""
        return self.read_as(ReplayReport.of)

    def finish(self) -> ReplayReport:
        """Stop now, and read the results."""
        self.ask("finish")
        self.wait_for_end()
        return self.report()


def replay(file: object, port: str, port2: str | None = None, *,
           perigee: str | None = None, **options: Any) -> ReplayReport:
    """A whole run, to the file's end, or its count or duration."""
    with Replay(file, port, port2, perigee=perigee, **options) as run:
        return run.report()
