# SPDX-License-Identifier: Apache-2.0
"""Checks of MoonGen's own tests and of its benchmarks of RFC 2544."""

import re

from runs import RING, TESTS, expect, test


CONFIGURATION = """
return {cards = function () return {{0, "02:50:47:00:00:00", 100},
  {1, "02:50:47:00:00:01", 100}} end, pairs = function () return {{0, 1}} end}
"""


def suite(name, ports, interrupt=None):
    """A script of MoonGen's own tests, which need the configuration of the machine."""
    def run_it(run):
        (run.folder / "tconfig.lua").write_text(CONFIGURATION)
        run.script(f"moongen/test/tests/{name}.lua", ports=ports, interrupt=interrupt,
                   trees=[run.moongen / "test", run.libmoon])
        if name != "00-basics":
            run.has(r"^Ran 2 tests in")
            run.has(r"^OK *$")
    TESTS["suite_" + name[3:]] = run_it


suite("00-basics", [])
suite("01-send", ["null", "null"])


@test
def rfc2544_latency(run):
    run.script("moongen/rfc2544/benchmarks/latency.lua", "--txport", 0, "--rxport", 1,
               "--duration", 1, "--rate", 10, ports=RING,
               trees=[run.moongen / "rfc2544"])
    sizes = set(re.findall(r"^[\d.]+,\d+,(\d+),[\d.]+,1$", run.said, re.MULTILINE))
    expect(len(sizes) == 7, f"frame sizes {sizes}")


@test
def rfc2544_frameloss(run):
    """At the link's rate alone."""
    run.script("moongen/rfc2544/benchmarks/frameloss.lua", "--txport", 0, "--rxport", 1,
               "--duration", 1, "--granularity", 1, ports=RING,
               trees=[run.moongen / "rfc2544"])
    rows = re.findall(r"^1,(\d+),1,(\d+),(\d+),[\d.e-]+$", run.said, re.MULTILINE)
    expect(len(rows) == 7 and all(0 < int(got) <= int(sent) for _, got, sent in rows),
           f"{rows}")
