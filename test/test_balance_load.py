# SPDX-License-Identifier: Apache-2.0
"""What each CPU has to do while buckets of flows move (--balance), by packets."""

import os
import socket

import pytest

from helpers.command import PERIGEE, running, wait_until
from helpers.control import Client, path_of
from test_balance import (
    BATCH, CPUS, HEADER, ON_TWO, STATEFUL, Traffic, number, turns, wait_for_socket)

pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="it takes two CPUs")


class Loads:
    """Packets that each CPU has had."""

    def __init__(self, click):
        self.client = Client(path_of(click.pid))

    def read(self):
        links = self.client.ask(do="counters")["answer"]["links"]
        return [links[f"click_{copy}/m.0 -> click_{copy}/c.0"]["txpackets"]
                for copy in (1, 2)]

    def when(self, packets):
        """When it is so many in all."""
        wait_until(lambda: sum(self.read()) == packets, f"{packets} packets")
        return self.read()


@pytest.mark.parametrize("method", ["rsspp", "rss"])
def test_no_cpu_has_over_115_percent_of_the_mean(tmp_path, method):
    """An elephant with 40 % of all packets among 300 mice: after ten looks at loads (a
    second at the usual ten a second) as on the CPUs' counters."""
    fifo, unix = tmp_path / "in", tmp_path / "control"
    os.mkfifo(fifo)
    traffic = Traffic(41)
    text = STATEFUL.replace("rsspp", method)
    with running(PERIGEE, "click", *ON_TWO, "-u", unix,
                 "--device", f"0=pcap:rx={fifo}", "--device", "1=null", "-e", text) as click:
        with open(os.open(fifo, os.O_RDWR), "wb", buffering=0) as pipe:
            pipe.write(HEADER + traffic.batch(7))
            wait_for_socket(click, unix)
            with socket.socket(socket.AF_UNIX) as control:
                control.connect(str(unix))
                for _ in range(10 if method == "rss" else 300):
                    pipe.write(traffic.batch(7))
                    if method == "rsspp" and number(control, "balancer.looks") >= 10:
                        break
                else:
                    assert method == "rss", number(control, "balancer.looks")
            loads = Loads(click)
            before = loads.when(sum(traffic.sent))
            for _ in range(30):
                pipe.write(traffic.batch(7))
            after = loads.when(sum(traffic.sent))
        assert click.finish() == 0
    had = [b - a for a, b in zip(before, after)]
    busiest = max(had) / (sum(had) / len(had))
    assert busiest <= 1.15 if method == "rsspp" else busiest > 1.3, had


def test_fewer_cpus_and_more(tmp_path):
    """One CPU takes all flows at first, then two, then one again; what is kept of flows
    moves along."""
    fifo, unix = tmp_path / "in", tmp_path / "control"
    os.mkfifo(fifo)
    traffic = Traffic(42)
    text = STATEFUL.replace("TIMER 10", "TIMER 10, STARTCPU 1")
    with running(PERIGEE, "click", *ON_TWO, "-u", unix, "-h", "c.count", "-h", "c.open",
                 "--device", f"0=pcap:rx={fifo}", "--device", "1=null", "-e", text) as click:
        with open(os.open(fifo, os.O_RDWR), "wb", buffering=0) as pipe:
            pipe.write(HEADER + traffic.batch(7))
            wait_for_socket(click, unix)
            loads = Loads(click)
            with socket.socket(socket.AF_UNIX) as control:
                control.connect(str(unix))

                def had(batches):
                    before = loads.when(sum(traffic.sent))
                    for _ in range(batches):
                        pipe.write(traffic.batch(7))
                    after = loads.when(sum(traffic.sent))
                    return [b - a for a, b in zip(before, after)]

                def use(cpus):
                    control.sendall(b"WRITE balancer.cpus %d\r\n" % cpus)
                    before = turns(control)
                    for _ in range(200):
                        pipe.write(traffic.batch(7))
                        if turns(control) > before:
                            return
                    raise AssertionError("flows didn't move")

                assert had(5) == [5 * BATCH, 0]
                assert loads.read()[1] == 0
                use(2)
                assert min(had(10)) > 2 * BATCH
                use(1)
                assert had(5) == [5 * BATCH, 0]
        assert click.finish() == 0
    flows = sum(sent > 0 for sent in traffic.sent)
    for handler in "c.count", "c.open":
        assert f"{handler}:\n{flows}\n" in click.said
