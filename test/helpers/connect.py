# SPDX-License-Identifier: Apache-2.0
"""Runs of `perigee connect`, whose results say what became of each connection."""

from helpers.command import PERIGEE, run
from helpers.schema import valid

ENDS = ["closed", "reset", "refused", "timed_out", "aborted", "open"]


def connect(*args, command=(), status=0, **kwargs):
    """The results of a run, from its JSON. Exit status 1: no connection was established."""
    result = run(*command, PERIGEE, "connect", *args, "--json", "-", **kwargs)
    assert result.returncode == status, result.stderr
    return checked(result.stdout)


def checked(text):
    """Results, in which every connection is accounted for."""
    results = valid("connect", text)
    for side in {"client", "server"} & set(results):
        counts = results[side]["counts"]
        assert results[side]["balanced"], counts
        assert counts["started"] == sum(counts[name] for name in ENDS), counts
    return results
