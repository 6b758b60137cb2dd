# SPDX-License-Identifier: Apache-2.0
"""Snabb: its own apps between a source and a sink (bench/lua/compare.lua)."""
from suite import fastclick, measure
from upstream import graphs

NAME = "Snabb"
HOW = "DIR/snabb: a checkout of github.com/snabbco/snabb after `make` in it"
GRAPHS = {"Source, 1 Fwd, Sink": "chain:1", "Source, 10 Fwd, Sink": "chain:10",
          "Source, 100 Fwd, Sink": "chain:100", "pcap filter": "filter",
          "learning bridge": "bridge", "rate limiter": "rate"}


def find(folder):
    program = folder and folder / "snabb/src/snabb"
    return Snabb([program]) if program and program.is_file() else None


class Snabb:
    """Snabb, or Perigee as it runs the same graphs."""
    works = dict.fromkeys(GRAPHS, (None,))  # as many packets as a breath takes

    def __init__(self, command):
        self.command = command

    def cycles(self, work, _burst, seconds):
        nanoseconds = graphs.graph(self.command, GRAPHS[work], seconds)
        return nanoseconds / fastclick.NANOSECONDS * measure.hertz()
