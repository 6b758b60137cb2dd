# SPDX-License-Identifier: Apache-2.0
"""`perigee generate`: packets of any stack at a rate, and what became of them."""

from typing import Any

from perigee.measurement import Measurement
from perigee.reports import GenerateReport
from perigee.stream import Stream, parts_of


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
        self.ask("hold", stream=stream)

    def go(self, stream: str | None = None) -> None:
        """Send again."""
        self.ask("go", stream=stream)

    def set_rate(self, rate: str, stream: str | None = None) -> None:
        """Send at another rate, such as "500kpps" or "1Gbit"."""
        self.ask("rate", rate=rate, stream=stream)

    def streams(self) -> list[Stream]:
        """The streams, also those that have been removed."""
        return [Stream.of(told) for told in self.ask("streams").get("streams", [])]

    def add(self, stream: Stream | str) -> str:
        """Send another stream, or one as --stream takes it; its name.

        Raises PerigeeError with a sentence that names the stream if it can't be; the others
        go on as they were.
        """
        if isinstance(stream, str):
            return self.ask("add", stream=stream)["stream"]
        return self.ask("add", stream=stream.parts(),
                                held=stream.held or None)["stream"]

    def change(self, stream: str, **parts: Any) -> None:
        """Change what the stream of that name has, by the fields of Stream: change("dns",
        size="imix", fields={"udpDst": 53}). None: as the options of the run say. Its counts
        and its packets' numbers go on.
        """
        self.ask("change", stream=stream, to=parts_of(parts))

    def remove(self, stream: str) -> None:
        """Send no more of the stream; what it has counted stays in the report."""
        self.ask("remove", stream=stream)

    def report(self) -> GenerateReport:
        """Wait for the end, and read the results. Raises PerigeeError if it failed."""
        return self.read_as(GenerateReport.of)

    def finish(self) -> GenerateReport:
        """Stop now, and read the results."""
        self.stop()
        return self.report()


def generate(*, perigee: str | None = None, **options: Any) -> GenerateReport:
    """A whole run, to its count or duration."""
    with Generator(perigee=perigee, **options) as generator:
        return generator.report()
