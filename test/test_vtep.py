# SPDX-License-Identifier: Apache-2.0
"""`perigee vtep` against the Linux kernel's VXLAN devices, over AF_PACKET and AF_XDP.

    station 10.9.0.1 -- left | perigee vtep | right -- underlay bridge -- remotes
                                                       192.0.2.2 with vxlan0 10.9.0.2, ...
"""

import json
import re

import pytest

from helpers.command import PERIGEE, running, wait_until
from helpers.network import veth
from helpers.report import account, drops

KINDS = ["packet", "xdp"]
V4 = {"own": "192.0.2.1", "remote": "192.0.2.{}", "length": 24}
V6 = {"own": "2001:db8::1", "remote": "2001:db8::{}", "length": 64}


class Site:
    """A station behind Perigee's end point, and `remotes` others behind the kernel's,
    each a namespace; all on one underlay network (a bridge)."""

    def __init__(self, make, kind, remotes=1, underlay=V4, vnis=(42,), checksum=None):
        self.kind, self.underlay, self.vnis = kind, underlay, vnis
        self.station, self.middle, self.net = make("s"), make("m"), make("n")
        veth(self.middle, "left", self.station, "net")
        veth(self.middle, "right", self.net, "own")
        self.net.ip("link", "add", "lan", "type", "bridge")
        self.net.ip("link", "set", "own", "master", "lan")
        self.net.ip("link", "set", "lan", "up")
        self.inner(self.station, "net", 1)
        self.remotes = []
        for n in range(2, 2 + remotes):
            self.remotes.append(self.remote(make(f"r{n}"), n, checksum))

    def remote(self, host, n, checksum):
        veth(self.net, f"to{n}", host, "under")
        self.net.ip("link", "set", f"to{n}", "master", "lan")
        host.check("sysctl", "-qw", "net.ipv6.conf.under.disable_ipv6=0")
        address = self.underlay["remote"].format(n)
        options = ["nodad"] if ":" in address else []
        host.ip("address", "add", f"{address}/{self.underlay['length']}", "dev", "under",
                *options)
        for i, vni in enumerate(self.vnis):
            host.ip("link", "add", f"vxlan{i}", "type", "vxlan", "id", str(vni),
                    "dstport", "4789", "local", address, *(checksum or []))
            host.check("ethtool", "-K", f"vxlan{i}", "tx", "off", "gso", "off", "tso",
                       "off", "gro", "off")
            host.check("bridge", "fdb", "append", "00:00:00:00:00:00", "dev",
                       f"vxlan{i}", "dst", self.underlay["own"])
            host.ip("link", "set", f"vxlan{i}", "up")
            host.ip("address", "add", f"10.{9 + i}.0.{n}/24", "dev", f"vxlan{i}")
        return host

    def inner(self, host, iface, n):
        """Addresses of the station: untagged 10.9.0.n, VLAN 11 10.10.0.n, ..."""
        host.ip("link", "set", iface, "mtu", "1450")
        for i, _ in enumerate(self.vnis):
            dev = iface
            if i:
                dev = f"vlan{10 + i}"
                host.ip("link", "add", "link", iface, "name", dev, "type", "vlan", "id",
                        str(10 + i))
                host.ip("link", "set", dev, "mtu", "1446", "up")
            host.ip("address", "add", f"10.{9 + i}.0.{n}/24", "dev", dev)

    def start(self, *options):
        words = ["--inner", f"{self.kind}:left", "--outer", f"{self.kind}:right",
                 "--address", f"{self.underlay['own']}/{self.underlay['length']}",
                 "--vni", self.vnis[0]]
        for i, vni in enumerate(self.vnis[1:], 1):
            words += ["--vlan", f"{10 + i}={vni}"]
        for n in range(2, 2 + len(self.remotes)):
            words += ["--remote", self.underlay["remote"].format(n)]
        return running(*self.middle.command(PERIGEE, "vtep", *words, *options))


def ping(host, to, *options):
    return host.run("ping", "-n", "-W", "2", *options, to)


def wait_for_ping(host, to, program):
    def answers():
        assert program.read(), program.said
        return ping(host, to, "-c", "1").returncode == 0
    wait_until(answers, f"a first ping to {to}", timeout=30)


def assert_pings(host, to, *options):
    result = ping(host, to, "-c", "5", "-i", "0.05", *options)
    assert " 0% packet loss" in result.stdout, result.stdout


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("underlay", [V4, V6], ids=["ip4", "ip6"])
def test_ping_both_ways(namespace, kind, underlay):
    site = Site(namespace, kind, underlay=underlay)
    other, = site.remotes
    with site.start() as program:
        wait_for_ping(site.station, "10.9.0.2", program)
        assert_pings(site.station, "10.9.0.2")
        assert_pings(other, "10.9.0.1")
        # The largest frame that fits the underlay's 1,500 bytes, and one of 1,400.
        largest = 1500 - (50 if underlay is V4 else 70) - 28
        for size in 0, 1400 - (0 if underlay is V4 else 28), largest:
            assert_pings(site.station, "10.9.0.2", "-s", str(size), "-M", "do")
            assert_pings(other, "10.9.0.1", "-s", str(size))
        # The end point is a host too.
        assert_pings(other, underlay["own"])
        assert program.interrupt() == 0, program.said
    account(program.said)
    # The kernel's bridge and hosts say this and that to groups.
    assert set(drops(program.said)) <= {"unresolved", "other_mac", "other_protocol"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", [[], ["--reverse"]], ids=["out", "in"])
def test_a_tcp_transfer(namespace, kind, direction):
    site = Site(namespace, kind)
    other, = site.remotes
    with site.start() as program, \
            running(*other.command("iperf3", "-s", "-1", "--forceflush")) as server:
        wait_for_ping(site.station, "10.9.0.2", program)
        server.wait_for("Server listening")
        result = site.station.run("iperf3", "-c", "10.9.0.2", "-n", "20M", "--json",
                                  "--connect-timeout", "5000", *direction)
        assert result.returncode == 0, result.stdout
        end = json.loads(result.stdout)["end"]
        assert end["sum_sent"]["bytes"] >= 20 * 1000**2
        assert end["sum_received"]["bytes"] > 10 * 1000**2
        assert program.interrupt() == 0, program.said
    account(program.said)
