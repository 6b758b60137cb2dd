# SPDX-License-Identifier: Apache-2.0
"""`perigee connect`: connections of TCP by the million, opened, served, or both."""

from typing import Any

from perigee.measurement import Measurement
from perigee.reports import ConnectReport


class Connect(Measurement):
    """A run of `perigee connect SIDE PORT...`, until the `with` ends.

    `side` is client, server or both; the keywords are its options
    (src/program/connect/README.md), with underscores: Connect("client", "packet:veth0",
    clients="10.0.0.0/24", servers="10.0.1.1", rate="20k").
    """

    def __init__(self, side: str, *ports: str, perigee: str | None = None,
                 **options: Any) -> None:
        super().__init__("connect", side, *ports, options=options, perigee=perigee)

    def set_rate(self, rate: int | str) -> None:
        """Open so many connections a second from now on; a client's."""
        self.ask("rate", rate=str(rate))

    def set_concurrent(self, limit: int | str) -> None:
        """Have at most so many connections open from now on, on each side."""
        self.ask("concurrent", concurrent=str(limit))

    def report(self) -> ConnectReport:
        """Wait for the end, and read the results. Raises PerigeeError if it failed."""
        return self.read_as(ConnectReport.of)

    def finish(self) -> ConnectReport:
        """Stop now, and read the results; what is open is aborted."""
        self.ask("finish")
        self.wait_for_end()
        return self.report()


def connect(side: str, *ports: str, perigee: str | None = None,
            **options: Any) -> ConnectReport:
    """A whole run, to its count or duration."""
    with Connect(side, *ports, perigee=perigee, **options) as run:
        return run.report()
