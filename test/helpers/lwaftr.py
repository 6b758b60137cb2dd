# SPDX-License-Identifier: Apache-2.0
"""An lwAFTR between two namespaces: the internet, and a B4 of the kernel's."""

import contextlib
import sys

from helpers import b4
from helpers.command import ROOT, perigee, run, running, tool, wait_until
from helpers.network import Namespace, veth

INTERNET, LWAFTR4 = "10.0.0.2", "10.0.0.1"
B4, LWAFTR6, BR = "2001:db8:1::2", "2001:db8:1::1", "2001:db8:2::1"
SUBSCRIBER = "192.0.2.1"
MTU = 1500
PORT_SET = range(1024 * 5, 1024 * 6)  # PSID 5 of 6 bits

CONF = f"""
softwire-config {{
  binding-table {{
    softwire {{ ipv4 {SUBSCRIBER}; psid %s; b4-ipv6 {B4}; br-address {BR};
      port-set {{ psid-length %s; }} }}
  }}
  external-interface {{ mtu {MTU}; }}
  internal-interface {{ mtu {MTU}; }}
  instance {{
    device v6; external-device v4;
    queue {{
      id 0;
      external-interface {{ ip {LWAFTR4}; mac 02:00:00:00:00:04;
        next-hop {{ ip {INTERNET}; }} }}
      internal-interface {{ ip {LWAFTR6}; mac 02:00:00:00:00:06;
        next-hop {{ ip {B4}; }} }}
    }}
  }}
}}
"""
WHOLE, SHARED = CONF % (0, 0), CONF % (5, 6)


class Net:
    """Namespaces `internet`, `router` (with interfaces v4 and v6, whose kernel keeps
    still) and `b4`, whose IPv4 goes through a tunnel."""

    def __init__(self):
        self.internet, self.router, self.b4 = self.all = [
            Namespace(label) for label in ("i", "r", "b")]
        veth(self.router, "v4", self.internet, "eth0", MTU)
        veth(self.router, "v6", self.b4, "eth0", MTU)
        self.internet.ip("addr", "add", f"{INTERNET}/24", "dev", "eth0")
        self.internet.ip("route", "add", f"{SUBSCRIBER}/32", "via", LWAFTR4)
        # The kernel speaks when spoken to: it has no address of its own, for which it would
        # ask who else has it, asks for no router, and says at once, not some time later,
        # which groups it is in.
        self.b4.sysctl("net.ipv6.conf.eth0.addr_gen_mode=1",
                       "net.ipv6.conf.eth0.router_solicitations=0",
                       "net.ipv6.conf.eth0.mldv2_unsolicited_report_interval=1",
                       "net.ipv6.conf.eth0.disable_ipv6=0")
        self.b4.ip("addr", "add", f"{B4}/64", "dev", "eth0", "nodad")
        self.b4.ip("route", "add", f"{BR}/128", "via", LWAFTR6)

    @contextlib.contextmanager
    def tunnel(self):
        """The B4's tunnel, the interface tun0."""
        kernels = run(tool("ip"), "-n", self.b4.name, "link", "add", "tun0", "type",
                      "ip6tnl", "mode", "ipip6", "local", B4, "remote", BR,
                      "encaplimit", "none").returncode == 0
        with contextlib.ExitStack() as stack:
            if not kernels:
                program = stack.enter_context(running(*self.b4.command(
                    sys.executable, b4.__file__, "tun0", B4, BR)))
                program.wait_for("ready")
            self.b4.ip("addr", "add", f"{SUBSCRIBER}/32", "dev", "tun0")
            self.b4.ip("link", "set", "tun0", "mtu", str(MTU - 40), "up")
            self.b4.ip("route", "add", "default", "dev", "tun0")
            yield

    def remove(self):
        for namespace in self.all:
            namespace.remove()


@contextlib.contextmanager
def lwaftr(net, conf, *options, name="lwaftr-test"):
    """A running `perigee lwaftr run` in the network's router; ready for packets."""
    command = net.router.command(ROOT / "perigee", "lwaftr", "run", "-c", conf,
                                 "-n", name, *options)
    with running(*command) as process:
        wait_until(lambda: process.read() and
                   perigee("lwaftr", "query", name, "--ready").returncode == 0,
                   lambda: f"the lwAFTR: {process.said}")
        yield process
