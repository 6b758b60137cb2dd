# SPDX-License-Identifier: Apache-2.0
"""BIRD announces the NAT's service address where the master is (examples/failover): TCP goes
on through the other host when the first one dies, and when it gives way."""

import contextlib
import os
import re
import shutil

import pytest

from helpers.command import PERIGEE, ROOT, running, wait_until
from helpers.failover import NAT, Net, kill, pass_on
from helpers.network import veth

EXAMPLES = ROOT / "examples/failover"
PATH = f"{PERIGEE.parent}:{os.environ['PATH']}:/usr/sbin:/sbin"
SERVICE = "198.51.100.1"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root"),
    pytest.mark.skipif(not shutil.which("bird", path=PATH),
                       reason="there is no BIRD 2 (apt-get install bird2)")]


def nat_of(i):
    """The NAT of a host: the service address outside, and an own one as next hop."""
    assert NAT.count("pattern outside") == 2 and "192.0.2.1/24 02:00:00:00:00:02" in NAT
    return NAT.replace("pattern outside", f"pattern {SERVICE}").replace(
        "192.0.2.1/24 02:00:00:00:00:02", f"192.0.2.{i + 1}/24 02:00:00:00:00:{i + 1}2")


def conf_of(i):
    text = (EXAMPLES / "bird-nat.conf").read_text()
    return text.replace("10.9.1.", f"10.9.{i + 1}.").replace("192.0.2.1;", f"192.0.2.{i + 1};")


class Hosts:
    """Two with a NAT, its replicator, BIRD and announce-master, and a router outside."""

    def __init__(self, stack, net, folder):
        self.stack, self.net, self.folder = stack, net, folder
        for i, nat in enumerate(net.nats):
            veth(net.outside, f"bgp{i}", nat, "bgp")
            net.outside.ip("address", "add", f"10.9.{i + 1}.2/24", "dev", f"bgp{i}")
            nat.ip("address", "add", f"10.9.{i + 1}.1/24", "dev", "bgp")
        self.bird(net.outside, (EXAMPLES / "bird-router.conf").read_text(), "router")
        self.running = [self.start(i) for i in (0, 1)]

    def bird(self, namespace, text, name):
        conf, control = self.folder / f"{name}.conf", self.folder / f"{name}.ctl"
        conf.write_text(text)
        process = self.stack.enter_context(running(
            *namespace.command("bird", "-f", "-c", str(conf), "-s", str(control)),
            env={**os.environ, "PATH": PATH}))
        wait_until(lambda: process.read() and control.exists(), f"BIRD: {process.said}")
        return process, control

    def start(self, i):
        host, other = self.net.hosts[i], self.net.hosts[1 - i]
        replicator = self.stack.enter_context(host.start(
            "replicate", "nat", other.address, "--listen", host.address))
        replicator.wait_for("nat: backup")
        nat = self.nat(i)
        bird, control = self.bird(host.namespace, conf_of(i), f"host{i}")
        announcing = self.stack.enter_context(running(
            EXAMPLES / "announce-master", "nat", control,
            env={**host.environment, "PATH": PATH}))
        return [replicator, nat, bird, announcing]

    def nat(self, i):
        nat = self.stack.enter_context(self.net.hosts[i].start(
            "--keep", "nat", "--standby", "click", "-e", nat_of(i), "--device", "0=packet:in0",
            "--device", "1=packet:out0"))
        nat.wait_for("stands by for the master on another host")
        return nat

    def way(self):
        """The next hops to the service address."""
        text = self.net.outside.ip("route", "show", SERVICE)
        return re.findall(r"via (\S+)", text)

    def wait_for_way(self, *hops):
        wait_until(lambda: self.way() == list(hops), lambda: f"{self.way()}, not {hops}")

    def is_replicated(self, i):
        wait_until(lambda: re.search("nat: [2-9] records",
                                     self.net.hosts[i].run("keep", "list").stdout),
                   lambda: self.net.hosts[i].run("keep", "list").stdout)


def test_the_service_address_is_announced_where_the_master_is(tmp_path):
    with contextlib.ExitStack() as stack:
        net = Net(stack, tmp_path)
        hosts = Hosts(stack, net, tmp_path)
        a, b = net.hosts
        a.notify("master", "nat")
        hosts.running[0][1].wait_for("took over in")
        hosts.wait_for_way("192.0.2.1")
        hosts.running[0][0].wait_for("has all")
        client, server = net.connected(stack, SERVICE)
        pass_on(client, server)
        hosts.is_replicated(1)
        a.notify("backup", "nat")  # it gives way
        assert hosts.running[0][1].finish() == 0
        hosts.wait_for_way()
        b.notify("master", "nat")
        hosts.wait_for_way("192.0.2.2")
        for _ in range(3):
            pass_on(client, server)
            pass_on(server, client)
        hosts.running[0][1] = hosts.nat(0)
        hosts.running[1][0].wait_for("has all")
        hosts.is_replicated(0)
        for process in hosts.running[1]:  # the other one dies
            kill(process)
        net.cut(1)
        hosts.wait_for_way()
        a.notify("master", "nat")
        hosts.wait_for_way("192.0.2.1")
        for _ in range(3):
            pass_on(client, server)
            pass_on(server, client)
        kill(hosts.running[0][1])  # only the NAT: nobody is to send to this host
        hosts.wait_for_way()
