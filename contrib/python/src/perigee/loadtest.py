# SPDX-License-Identifier: Apache-2.0
"""`perigee loadtest`: trials at rates, and what came back of each."""

import contextlib
from typing import Any

from perigee.errors import PerigeeError
from perigee.measurement import Measurement
from perigee.reports import LimitReport


class LoadTest(Measurement):
    """A run of `perigee loadtest SUBPROGRAM`, until the `with` ends.

    `words` are its subprogram and streams, the keywords its options
    (src/program/loadtest/README.md), with underscores: LoadTest("find-limit", "tx", "rx",
    "packet:veth0", "rx", "tx", "packet:veth1", sizes=60).
    """

    def __init__(self, subprogram: str, *words: str, perigee: str | None = None,
                 **options: Any) -> None:
        super().__init__("loadtest", subprogram, *words, options=options, perigee=perigee)

    def finish(self) -> dict[str, Any]:
        """Stop now, and read the results of the trials made."""
        self.ask("finish")
        with contextlib.suppress(PerigeeError):  # that it was stopped
            self.wait_for_end()
        return self.results_so_far()


def find_limit(*words: str, perigee: str | None = None, **options: Any) -> list[LimitReport]:
    """A whole run of `perigee loadtest find-limit`: a report for each size."""
    with LoadTest("find-limit", *words, perigee=perigee, **options) as run:
        return run.read_as(LimitReport.all)
