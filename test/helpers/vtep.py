# SPDX-License-Identifier: Apache-2.0
"""Underlays of `perigee vtep`, and a site that it joins to the kernel's end points."""

from helpers.command import PERIGEE, running
from helpers.network import veth

V4 = {"own": "192.0.2.1", "remote": "192.0.2.{}", "length": 24}
V6 = {"own": "2001:db8::1", "remote": "2001:db8::{}", "length": 64}


class Site:
    """A station behind Perigee's end point, and `remotes` others behind the kernel's,
    each a namespace; all on one underlay network (a bridge)."""

    def __init__(self, make, kind, remotes=1, underlay=V4, vnis=(42,), checksum=None):
        self.kind, self.underlay, self.vnis = kind, underlay, vnis
        self.station, self.middle, self.net = make("s"), make("m"), make("n")
        self.offloads = kind == "packet"
        veth(self.middle, "left", self.station, "net", offloads=self.offloads)
        veth(self.middle, "right", self.net, "own", offloads=self.offloads)
        self.net.ip("link", "add", "lan", "type", "bridge")
        self.net.ip("link", "set", "own", "master", "lan")
        self.net.ip("link", "set", "lan", "up")
        mtu = 1450 if underlay is V4 else 1430
        self.station.ip("link", "set", "net", "mtu", str(mtu))
        self.station.ip("address", "add", "10.9.0.1/24", "dev", "net")
        self.remotes = []
        for n in range(2, 2 + remotes):
            self.remotes.append(self.remote(make(f"r{n}"), n, checksum))

    def remote(self, host, n, checksum):
        veth(self.net, f"to{n}", host, "under", offloads=self.offloads)
        self.net.ip("link", "set", f"to{n}", "master", "lan")
        host.sysctl("net.ipv6.conf.under.disable_ipv6=0")
        address = self.underlay["remote"].format(n)
        options = ["nodad"] if ":" in address else []
        host.ip("address", "add", f"{address}/{self.underlay['length']}", "dev", "under",
                *options)
        for i, vni in enumerate(self.vnis):
            host.ip("link", "add", f"vxlan{i}", "type", "vxlan", "id", str(vni),
                    "dstport", "4789", "local", address, *(checksum or []))
            if not self.offloads:
                host.check("ethtool", "-K", f"vxlan{i}", "tx", "off", "gso", "off", "tso",
                           "off", "gro", "off")
            host.check("bridge", "fdb", "append", "00:00:00:00:00:00", "dev",
                       f"vxlan{i}", "dst", self.underlay["own"])
            host.ip("link", "set", f"vxlan{i}", "up")
            host.ip("address", "add", f"10.{9 + i}.0.{n}/24", "dev", f"vxlan{i}")
        return host

    def start(self, *options):
        words = ["--inner", f"{self.kind}:left", "--outer", f"{self.kind}:right",
                 "--address", f"{self.underlay['own']}/{self.underlay['length']}",
                 "--vni", self.vnis[0]]
        for i, vni in enumerate(self.vnis[1:], 1):
            words += ["--vlan", f"{10 + i}={vni}"]
        for n in range(2, 2 + len(self.remotes)):
            words += ["--remote", self.underlay["remote"].format(n)]
        return running(*self.middle.command(PERIGEE, "vtep", *words, *options))
