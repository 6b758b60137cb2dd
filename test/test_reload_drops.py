# SPDX-License-Identifier: Apache-2.0
"""Drops keep their names when a graph file is read again, on one CPU and on two: with
the filter of the tutorial (doc/tutorial.md)."""

import json
import re
import signal

import pytest

from helpers.command import PERIGEE, ROOT, perigee, running, wait_until
from helpers.network import Wire, veth

GRAPH = """
name: {name}
ports:
  left: packet:left
  right: packet:right
apps:
  before: {{class: apps.fwd.fwd.Fwd}}
{filter}
links:
  - left -> before -> {through} right
"""
FILTER = """  filter:
    class: dns_filter.DnsFilter
    arg: {{port: {port}}}"""


def tutorial_filter():
    text = (ROOT / "doc/tutorial.md").read_text()
    return re.search(r"```lua\n(-- dns_filter.lua\n.*?)```", text, re.S).group(1)


def to_port(number):
    """A frame of UDP over IPv4 to that port."""
    return (b"\xff" * 12 + b"\x08\x00" + b"\x45\x00\x00\x1e" + bytes(5) + b"\x11"
            + bytes(10) + b"\x04\xd2" + number.to_bytes(2, "big") + b"\x00\x0a\x00\x00ab")


@pytest.mark.parametrize("cpus", [[], ["--cpus", "0-1"]])
def test_drops_keep_their_names(namespace, tmp_path, cpus):
    here, there = namespace("p"), namespace("t")
    veth(here, "left", there, "far_left", offloads=False)
    veth(here, "right", there, "far_right", offloads=False)
    (tmp_path / "dns_filter.lua").write_text(tutorial_filter())
    graph = tmp_path / "bridge.yaml"

    def write(port):
        text = FILTER.format(port=port) if port else ""
        graph.write_text(GRAPH.format(name="drops", filter=text,
                                      through="filter ->" if port else ""))
    write(53)
    with running(*here.command(PERIGEE, "run", graph, *cpus), cwd=tmp_path) as program:
        program.wait_for_engine()

        def settled():
            """Counters in shared memory, by name."""
            return json.loads(perigee("shm", "--json", program.pid).stdout or "{}")
        if cpus:
            wait_until(lambda: settled().get("workers/1/engine/breaths"), "two CPUs")
        with Wire(there, "far_left") as wire:
            def send(port, n):
                for _ in range(n):
                    wire.send(to_port(port))

            def dropped(n):
                return settled().get("apps/filter/drop_dns") == n
            send(53, 6)
            wait_until(lambda: dropped(6), "six drops")
            write(5353)
            program.send(signal.SIGHUP)
            program.wait_for("1 app changed")
            send(5353, 5)
            wait_until(lambda: dropped(11), "five more")
            write(None)
            program.send(signal.SIGHUP)
            program.wait_for("read again", count=2)
        assert program.interrupt() == 0, program.said
    assert re.search(r"filter \(removed\)\n  11 dropped: dns\n", program.said), program.said
    assert "freed 11 " in program.said
    assert "configured 2 times while running" in program.said
    assert ("divided over CPUs while running" in program.said) == bool(cpus)
