# SPDX-License-Identifier: Apache-2.0
"""`perigee generate`: packets of any stack at a rate, and what became of them."""

import json
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from perigee.program import Program
from perigee.reports import GenerateReport


def _words(options: dict[str, Any]) -> list[str]:
    """Options as words: stream=[...] gives --stream twice, both=True --both."""
    words = []
    for key, value in options.items():
        name = "--" + key.replace("_", "-")
        for item in value if isinstance(value, list | tuple) else [value]:
            if item is True:
                words.append(name)
            elif item is not None and item is not False:
                words += [name, str(item)]
    return words


class Generator(Program):
    """A run of `perigee generate`, until the `with` ends.

    The keywords are its options (src/program/generate/README.md), with underscores:
    Generator(port="packet:veth0", receive="packet:veth1", rate="10kpps",
    stream=["eth,ip4,udp;name=dns;udpDst=53"]).
    """

    def __init__(self, *, perigee: str | None = None, **options: Any) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="perigee-")
        self._results = Path(self._folder.name) / "results.json"
        try:
            super().__init__("generate", *_words(options), "--json", self._results,
                             perigee=perigee)
        except BaseException:
            self._folder.cleanup()
            raise

    def statistics(self) -> dict[str, Any]:
        """Packets and rates so far ("progress" in the schema of reports)."""
        return self.control.ask("statistics")

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
        self.wait()
        return GenerateReport.of(json.loads(
            self._results.read_text(encoding="utf-8", errors="surrogateescape")))

    def finish(self) -> GenerateReport:
        """Stop now, and read the results."""
        self.stop()
        return self.report()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        super().__exit__(kind, error, trace)
        self._folder.cleanup()


def generate(*, perigee: str | None = None, **options: Any) -> GenerateReport:
    """A whole run, to its count or duration."""
    with Generator(perigee=perigee, **options) as generator:
        return generator.report()
