# SPDX-License-Identifier: Apache-2.0
"""Two hosts (network namespaces) joined through Perigee by chains of 5 apps, over
AF_PACKET and AF_XDP."""

import json
import re

import pytest

from helpers.command import PERIGEE, ROOT, running, wait_until
from helpers.network import veth
from helpers.pings import Pings
from helpers.report import account, drops, port_statistics

CHAIN = 5
BRIDGE = ROOT / "test" / "chained_bridge.lua"


class Bridge:
    """Hosts `a` (10.0.0.1) and `b` (10.0.0.2), and Perigee between them."""

    def __init__(self, make, kind):
        self.a, self.middle, self.b = make("a"), make("m"), make("b")
        self.kind = kind
        for host, iface, address in (self.a, "left", 1), (self.b, "right", 2):
            # An AF_XDP port can't compute what the kernel left to a card.
            veth(self.middle, iface, host, "net", offloads=kind == "packet")
            host.ip("address", "add", f"10.0.0.{address}/24", "dev", "net")

    def start(self):
        return running(*self.middle.command(
            PERIGEE, "run", BRIDGE, f"{self.kind}:left", f"{self.kind}:right", CHAIN))

    def ping(self, *options):
        return self.a.run("ping", "-n", "-W", "2", *options, "10.0.0.2")

    def wait(self, program):
        def answers():
            assert program.read(), program.said
            return self.ping("-c", "1").returncode == 0
        wait_until(answers, "a first ping", timeout=20)


@pytest.fixture(params=["packet", "xdp"])
def bridge(request, namespace):
    return Bridge(namespace, request.param)


def assert_all_accounted_for(said):
    """What the ports received is what they sent, and drops with names."""
    a = account(said)
    assert a["in links"] == a["held by apps"] == a["allocated"] == 0
    assert a["dropped by ports"] == sum(drops(said).values())
    ports = port_statistics(said).values()
    assert sum(p["opackets"] for p in ports) == a["sent"]
    full = sum(int(n.replace(",", ""))
               for n in re.findall(r"([\d,]+) dropped: link full", said))
    assert a["freed"] == full
    return a


@pytest.mark.fast
def test_ping_of_all_sizes(bridge):
    with bridge.start() as program:
        bridge.wait(program)
        for size in 4, 56, 1472, 5000:  # the last one in 4 fragments
            with Pings(bridge.a, "10.0.0.2", 5, 0.01, size) as pings:
                pass
            assert pings.lost == [] and pings.sent == 5
        assert program.interrupt() == 0, program.said
    a = assert_all_accounted_for(program.said)
    assert a["dropped by ports"] == 0
    assert a["sent"] == a["received"]


def test_fragments_pass_as_they_were(bridge):
    """Not reassembled: four frames of at most the MTU, in each direction."""
    with bridge.start() as program:
        bridge.wait(program)
        before = frames_received(bridge.b)
        assert bridge.ping("-c", "1", "-s", "5000").returncode == 0
        assert frames_received(bridge.b) - before == 4
        assert program.interrupt() == 0, program.said
    assert drops(program.said) == {}


def frames_received(host):
    link = json.loads(host.ip("-json", "-stats", "link", "show", "net"))[0]
    return link["stats64"]["rx"]["packets"]


@pytest.mark.parametrize("direction", [[], ["--reverse"]], ids=["up", "down"])
def test_a_tcp_transfer(bridge, direction):
    with bridge.start() as program, \
            running(*bridge.b.command("iperf3", "-s", "-1", "--forceflush")) as server:
        bridge.wait(program)
        server.wait_for("Server listening")
        result = bridge.a.run("iperf3", "-c", "10.0.0.2", "-n", "20M", "--json",
                              "--connect-timeout", "5000", *direction)
        assert result.returncode == 0, result.stdout
        end = json.loads(result.stdout)["end"]
        assert end["sum_sent"]["bytes"] >= 20 * 1000**2
        assert end["sum_received"]["bytes"] > 10 * 1000**2  # counted a little early
        assert program.interrupt() == 0, program.said
    assert_all_accounted_for(program.said)
