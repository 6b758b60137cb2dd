# SPDX-License-Identifier: Apache-2.0
"""What runs of programs that measure have in common: they are steered, and they report."""

import contextlib
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from perigee.errors import PerigeeError, understanding
from perigee.program import LOOK_SECONDS, Program

_Report = TypeVar("_Report")


def words_of(options: dict[str, Any]) -> list[str]:
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


class Measurement(Program):
    """A run of a program that measures, until the `with` ends."""

    def __init__(self, *words: object, options: dict[str, Any],
                 perigee: str | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="perigee-")
        self._kept = ""  # the results' text, once the folder is removed
        self._results = Path(self._folder.name) / "results.json"
        try:
            super().__init__(*words, *words_of(options), "--json", self._results,
                             perigee=perigee)
        except BaseException:
            self._folder.cleanup()
            raise

    def statistics(self) -> dict[str, Any]:
        """How far it is ("PROGRAM-statistics" in the schema of reports)."""
        return self.ask("statistics")

    def wait_for(self, event: Callable[[dict[str, Any]], object],
                 timeout: float = 60.0) -> dict[str, Any]:
        """The first statistics of which `event` is true.

        Raises PerigeeError if the run ends before, or after `timeout` seconds.
        """
        ends = time.monotonic() + timeout
        while True:
            now = self.statistics()
            if event(now):
                return now
            if time.monotonic() > ends:
                raise PerigeeError(f"what is waited for hasn't come within {timeout:g} s")
            time.sleep(LOOK_SECONDS)

    def hold(self) -> None:
        """Send nothing more, open no connections, make no trials; until go()."""
        self.ask("hold")

    def go(self) -> None:
        """Go on."""
        self.ask("go")

    def results(self) -> dict[str, Any]:
        """Wait for the end, and read the results. Raises PerigeeError if it failed."""
        self.wait()
        return self.results_so_far()

    def results_so_far(self) -> dict[str, Any]:
        """What it has written at its end, even if it failed, or was stopped early."""
        text = self._text_of_results()
        if not text:
            raise PerigeeError("it has written no results")
        with understanding("the report"):
            return json.loads(text)

    def read_as(self, of: Callable[[dict[str, Any]], _Report]) -> _Report:
        """Wait for the end, and read the results by the function. Errors as results'."""
        results = self.results()
        with understanding("the report"):
            return of(results)

    def _text_of_results(self) -> str:
        if not self._kept:
            with contextlib.suppress(FileNotFoundError):
                return self._results.read_text(encoding="utf-8", errors="surrogateescape")
        return self._kept

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        super().__exit__(kind, error, trace)
        self._kept = self._text_of_results()
        self._folder.cleanup()
