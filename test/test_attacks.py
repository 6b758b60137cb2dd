# SPDX-License-Identifier: Apache-2.0
"""What a graph that forwards has to stand, without losing one of 500 pings;
PERIGEE_LONG=1 sends 5,000, for each attack."""

import os
import random
import re
import signal
import threading

import pytest

from helpers.command import PERIGEE, ROOT, Running, check, running, wait_until
from helpers.network import veth
from helpers.pings import Pings
from helpers.report import account

COUNT = 5_000 if os.environ.get("PERIGEE_LONG") else 500
SCRIPT = ROOT / "test" / "attacked.lua"


class Site:
    """Hosts `a` (10.0.0.1) and `b` (10.0.0.2), and a graph of Perigee's between them."""

    def __init__(self, make, kind):
        self.a, self.middle, self.b = make("a"), make("m"), make("b")
        self.ports = [f"{kind}:left", f"{kind}:right"]
        self.environment = dict(os.environ)
        for host, iface, address in (self.a, "left", 1), (self.b, "right", 2):
            veth(self.middle, iface, host, "net", offloads=kind == "packet")
            host.ip("address", "add", f"10.0.0.{address}/24", "dev", "net")

    def perigee(self, *words):
        return self.middle.command(PERIGEE, *words)

    def start(self, attack="nothing", *copies, within=()):
        """Run the graph; `within` is a command that runs another."""
        return running(*within, *self.perigee("run", SCRIPT, *self.ports, attack, *copies),
                       env=self.environment)

    def wait(self, program):
        def answers():
            assert program.read(), program.said
            return self.a.run("ping", "-n", "-c1", "-W5", "10.0.0.2").returncode == 0
        wait_until(answers, "a first ping")

    def pings(self):
        return Pings(self.a, "10.0.0.2", COUNT)


@pytest.fixture(params=["packet", "xdp"])
def site(request, namespace):
    return Site(namespace, request.param)


def assert_none_lost(pings):
    assert pings.sent == COUNT
    assert (pings.lost, pings.twice) == ([], 0)


def assert_ends_well(program, status=0):
    assert program.interrupt() == status, program.said
    a = account(program.said)
    assert a["received"] >= 2 * COUNT
    assert a["dropped by ports"] == a["held by apps"] == 0, program.said
    return a


@pytest.mark.parametrize("attack, answer, least", [
    ("refuse", "refused: ", 2), ("move", "moved", 1), ("change", "changed", 2)])
def test_changes_and_what_is_none(site, attack, answer, least):
    """Configurations that are refused, apps that move between CPUs, start anew, or come
    and go."""
    with site.start(attack) as program:
        site.wait(program)
        before = program.said.count(answer)
        with site.pings() as pings:
            while pings.going_on:
                assert program.runs_for(0.05), program.said
        assert_none_lost(pings)
        wait_until(lambda: program.read() and program.said.count(answer) - before >= least,
                   f"{least} times '{answer}'", timeout=60)
        assert_ends_well(program)
    if attack == "refuse":
        assert program.said.count("refused: ") > least
        assert "traceback" not in program.said


def kill_over_and_over(site, commands, pings, rng):
    """Start and kill -9 each of the commands (lists of words) while the pings go on; how
    often."""
    times = 0
    while pings.going_on:
        others = [Running(words, env=site.environment) for words in commands]
        for other in others:
            other.runs_for(rng.uniform(0, 0.3))
            assert other.interrupt(signal.SIGKILL) in (-signal.SIGKILL, 0, 1), other.said
            times += 1
    return times


def test_others_that_are_killed(site, tmp_path):
    """Who watches it, who captures beside it, and who gets copies from it in shared
    memory."""
    memif, vhost = tmp_path / "memif", tmp_path / "vhost"
    copies = [f"memif:{memif},role=server", f"virtio-user:{vhost},server=1"]
    with site.start("nothing", *copies) as program:
        site.wait(program)
        others = [[PERIGEE, "top", "--json", "-i", "100ms", program.pid],
                  site.perigee("capture", "packet:left", tmp_path / "a.pcap"),
                  [PERIGEE, "capture", f"memif:{memif}", tmp_path / "b.pcap"],
                  [PERIGEE, "capture", f"vhost:{vhost},client=1", tmp_path / "c.pcap"]]
        with site.pings() as pings:
            times = kill_over_and_over(site, others, pings, random.Random(COUNT))
            assert program.read(), program.said
        assert_none_lost(pings)
        assert times >= len(others)
        assert_ends_well(program)
    assert "traceback" not in program.said


def fill(path):
    """Write to a file until its disk is full."""
    with open(path, "wb", buffering=0) as file:
        try:
            while file.write(bytes(1 << 12)):
                pass
        except OSError:
            pass


@pytest.fixture
def small_disk(tmp_path):
    """A folder with little room, and one with it for shared memory."""
    folder = tmp_path / "small"
    folder.mkdir()
    check("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder)
    yield folder
    check("umount", "--lazy", folder)


def test_shared_memory_that_fills_up(site, small_disk):
    """While the graph changes, and has room again now and then."""
    site.environment["SNABB_SHM_ROOT"] = str(small_disk)
    with site.start("change") as program:
        site.wait(program)
        over = threading.Event()

        def fill_and_empty():
            while not over.is_set():
                fill(small_disk / "filler")
                over.wait(0.5)
                (small_disk / "filler").unlink()
                over.wait(0.1)
        filler = threading.Thread(target=fill_and_empty)
        filler.start()
        try:
            with site.pings() as pings:
                while pings.going_on:
                    assert program.runs_for(0.05), program.said
        finally:
            over.set()
            filler.join()
        assert_none_lost(pings)
        assert program.said.count("changed") >= 2
        assert_ends_well(program)


def test_a_disk_that_fills_up(site, small_disk):
    """Of who captures beside it, and of its own report."""
    to_full_disk = ["sh", "-c", 'exec "$@" >/dev/full', "sh"]
    with site.start("change", within=to_full_disk) as program:
        site.wait(program)
        capture = site.perigee("capture", "packet:left", small_disk / "a.pcap")
        fill(small_disk / "filler")
        with site.pings() as pings, running(*capture) as beside:
            assert beside.finish() == 1
            assert re.search("^perigee: .*No space left on device", beside.said, re.M)
        assert program.read(), program.said
        assert_none_lost(pings)
        assert program.interrupt() == 1
        assert "standard output can't be written" in program.said
