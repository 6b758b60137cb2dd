# SPDX-License-Identifier: Apache-2.0
"""`perigee generate`: packets of any stack at a rate, and what became of them."""

from typing import Any

from perigee.measurement import Measurement
from perigee.reports import GenerateReport


class Generator(Measurement):
    """A run of `perigee generate`, until the `with` ends.

    The keywords are its options (src/program/generate/README.md), with underscores:
    Generator(port="packet:veth0", receive="packet:veth1", rate="10kpps",
    stream=["eth,ip4,udp;name=dns;udpDst=53"]).
    """

    def __init__(self, *, perigee: str | None = None, **options: Any) -> None:
        super().__init__("generate", options=options, perigee=perigee)

    def hold(self, stream: str | None = None) -> None:
        """Stop sending: the stream, or all of them."""
        self.control.ask("hold", stream=stream)

    def go(self, stream: str | None = None) -> None:
        """Send again."""
        self.control.ask("go", stream=stream)

    def set_rate(self, rate: str, stream: str | None = None) -> None:
        """Send at another rate, such as "500kpps" or "1Gbit"."""
        self.control.ask("rate", rate=rate, stream=stream)

    def report(self) -> GenerateReport:
        """Wait for the end, and read the results. Raises PerigeeError if it failed."""
        return GenerateReport.of(self.results())

    def finish(self) -> GenerateReport:
        """Stop now, and read the results."""
        self.stop()
        return self.report()


def generate(*, perigee: str | None = None, **options: Any) -> GenerateReport:
    """A whole run, to its count or duration."""
    with Generator(perigee=perigee, **options) as generator:
        return generator.report()
