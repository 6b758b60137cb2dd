# SPDX-License-Identifier: Apache-2.0
"""examples/lwaftr: two lwAFTRs announce the same addresses by BGP, and a router spreads
flows over them. One is drained and replaced: no ping is lost. One is killed: its flows go
on through the other."""

import contextlib
import os
import re
import shutil
import signal
import subprocess

import pytest

from helpers import lwaftr as peers
from helpers.command import PERIGEE, ROOT, perigee, run, running, tool, wait_until
from helpers.network import Namespace, veth

EXAMPLE = ROOT / "examples/lwaftr"
PATH = f"{PERIGEE.parent}:{os.environ['PATH']}:/usr/sbin:/sbin"
SUBSCRIBER, HOST = "192.0.2.1", "10.0.0.2"
NAMES = [f"bgp{os.getpid()}-{n}" for n in ("one", "two")]

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root"),
    pytest.mark.skipif(not shutil.which("bird", path=PATH),
                       reason="there is no BIRD 2 (apt-get install bird2)")]


class Net:
    """The router `core`, between a host, a B4 and two lwAFTRs."""

    def __init__(self):
        self.core, self.host, self.b4, *self.routers = self.all = [
            Namespace(label) for label in ("c", "h", "b", "r1", "r2")]
        self.core.sysctl("net.ipv4.ip_forward=1",
                         "net.ipv6.conf.all.disable_ipv6=0",
                         "net.ipv6.conf.default.disable_ipv6=0",
                         "net.ipv6.conf.all.forwarding=1",
                         "net.ipv4.fib_multipath_hash_policy=1")
        self.join(self.host, "host", "10.0.0.1/24", "10.0.0.2/24")
        self.host.ip("route", "add", "default", "via", "10.0.0.1")
        self.b4.sysctl("net.ipv6.conf.default.disable_ipv6=0")
        self.join(self.b4, "home", "2001:db8:1::1/64", "2001:db8:1::2/64", "nodad")
        self.b4.ip("route", "add", "2001:db8:2::1/128", "via", "2001:db8:1::1")
        for n, router in enumerate(self.routers, 1):
            self.join(router, f"bgp{n}", f"10.9.{n}.2/24", f"10.9.{n}.1/24")
            self.join(router, f"ext{n}", f"10.0.{n}.2/24", None, iface="ext")
            self.join(router, f"int{n}", f"2001:db8:1{n}::2/64", None, "nodad",
                      iface="int")

    def join(self, other, name, address, others, *options, iface="eth0"):
        veth(self.core, name, other, iface)
        self.core.ip("addr", "add", address, "dev", name, *options)
        if others:
            other.ip("addr", "add", others, "dev", iface, *options)

    tunnel = peers.Net.tunnel

    def remove(self):
        for namespace in self.all:
            namespace.remove()


def second(text, n):
    """The text of an example's file, for machine number n."""
    if n == 2:
        for a, b in (("10.0.1.", "10.0.2."), ("10.9.1.", "10.9.2."), ("db8:11:", "db8:12:"),
                     (":01:0", ":02:0")):
            text = text.replace(a, b)
    return text.replace("name one", f"name {NAMES[n - 1]}")


@contextlib.contextmanager
def bird(namespace, folder, text, name):
    conf, control = folder / f"{name}.conf", folder / f"{name}.ctl"
    conf.write_text(text)
    with running(*namespace.command("bird", "-f", "-c", conf, "-s", control),
                 env={**os.environ, "PATH": PATH}) as process:
        wait_until(lambda: process.read() and control.exists(), f"BIRD: {process.said}")
        yield control


@contextlib.contextmanager
def started(net, folder, n):
    conf = folder / f"lwaftr{n}.conf"
    conf.write_text(second((EXAMPLE / "one.conf").read_text(), n))
    command = net.routers[n - 1].command(PERIGEE, "lwaftr", "run", "-c", conf)
    with running(*command) as process:
        yield process


def ways(net):
    """By which lwAFTRs the router reaches the subscriber, and the tunnels' end."""
    v4 = net.core.ip("route", "show", "192.0.2.0/24")
    v6 = net.core.ip("-6", "route", "show", "2001:db8:2::1")
    return (set(re.findall(r"via 10\.0\.(\d)", v4)),
            set(re.findall(r"via 2001:db8:1(\d)::", v6)))


def wait_for_ways(net, *numbers):
    wanted = {str(n) for n in numbers}
    wait_until(lambda: ways(net) == (wanted, wanted), f"routes by {wanted}")


@contextlib.contextmanager
def pings(net):
    """Pings of several flows all the time; then, for each flow, the numbers of those
    that were answered."""
    flows = []
    for source in range(10, 16):
        net.host.ip("addr", "add", f"10.0.0.{source}/24", "dev", "eth0")
        flows.append(subprocess.Popen(
            net.host.command("ping", "-i", "0.05", "-I", f"10.0.0.{source}", SUBSCRIBER),
            stdout=subprocess.PIPE, text=True))
    answered = []
    try:
        yield answered
    finally:
        for flow in flows:
            flow.send_signal(signal.SIGINT)
            said = flow.communicate(timeout=30)[0]
            answered.append(sorted(map(int, re.findall(r"icmp_seq=(\d+) ttl", said))))


def test_flows_go_on_when_one_is_replaced_or_killed(tmp_path):
    net = Net()
    with contextlib.ExitStack() as stack:
        stack.callback(net.remove)
        stack.enter_context(net.tunnel())
        stack.enter_context(bird(net.core, tmp_path,
                                 (EXAMPLE / "bird-core.conf").read_text(), "core"))
        for n in 1, 2:
            text = second((EXAMPLE / "bird-one.conf").read_text(), n)
            control = stack.enter_context(bird(net.routers[n - 1], tmp_path, text,
                                               f"bird{n}"))
            stack.enter_context(running(EXAMPLE / "announce", NAMES[n - 1], control,
                                        env={**os.environ, "PATH": PATH}))
        one = stack.enter_context(started(net, tmp_path, 1))
        two = stack.enter_context(started(net, tmp_path, 2))
        wait_for_ways(net, 1, 2)
        with pings(net) as answered:
            wait_until(lambda: all(used(name) for name in NAMES), "packets by both")
            assert perigee("lwaftr", "drain", NAMES[0]).returncode == 0
            wait_for_ways(net, 2)
            assert one.interrupt(signal.SIGTERM) == 0, one.said
            one = stack.enter_context(started(net, tmp_path, 1))
            wait_for_ways(net, 1, 2)
        for flow in answered:  # the last ones may be on their way
            assert len(flow) > 10 and flow == list(range(1, len(flow) + 1))
        two.send(signal.SIGKILL)
        wait_for_ways(net, 1)
        assert run(*net.host.command(tool("ping"), "-q", "-c", "3", "-i", "0.1",
                                     SUBSCRIBER)).returncode == 0


def used(name):
    said = perigee("lwaftr", "query", name, "in-ipv4-packets").stdout
    return "in-ipv4-packets" in said
