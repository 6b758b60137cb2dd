# SPDX-License-Identifier: Apache-2.0
"""Functions with state between two hosts, for helpers.state_soak: what runs, how it is changed
while it runs, and what must be true after each step."""

import contextlib
import itertools
import json
import os
import signal
import socket
import time

from helpers.click_control import ask, connect
from helpers.command import PERIGEE, ROOT, running, wait_until
from helpers.failover import INSIDE, NAT, OUTSIDE, pass_on
from helpers.network import Namespace, veth
from helpers.nfv import config

PATIENCE_S = 90
FLOWS = 20
TCP_ROUNDS = 3
ECHO_PORT, OPEN_PORTS = 4001, range(7001, 7007)


class Between:
    """A function in a namespace of its own between the hosts inside and outside."""

    CPUS = None, "0,1"

    def __init__(self, stack, folder, chance, gateway="10.0.0.1", outside="192.0.2.254/24"):
        self.stack, self.folder, self.chance = stack, folder, chance
        self.inside, self.namespace, self.outside = (
            Namespace(name) for name in ("inside", "box", "outside"))
        for namespace in (self.inside, self.namespace, self.outside):
            stack.callback(namespace.remove)
        veth(self.inside, "eth0", self.namespace, "in0", offloads=False)
        veth(self.outside, "eth0", self.namespace, "out0", offloads=False)
        self.inside.ip("address", "add", f"{INSIDE}/24", "dev", "eth0")
        if gateway:
            self.inside.ip("route", "add", "default", "via", gateway)
        self.outside.ip("address", "add", outside, "dev", "eth0")
        self.server_address = outside.split("/")[0]
        self.marks = {}

    def socket(self, namespace, kind=socket.SOCK_DGRAM, timeout=PATIENCE_S):
        with namespace.entered():
            made = self.stack.enter_context(socket.socket(socket.AF_INET, kind))
        made.settimeout(timeout)
        return made

    def connect(self, soak):
        """A TCP connection and flows of datagrams, from inside to outside."""
        self.echo = self.socket(self.outside, timeout=0.2)
        self.echo.bind((self.server_address, ECHO_PORT))
        self.flows = [self.socket(self.inside, timeout=0.2) for _ in range(FLOWS)]
        self.exchange(0)
        with self.outside.entered():
            listener = self.stack.enter_context(socket.create_server((self.server_address, 0)))
        self.client = self.socket(self.inside, socket.SOCK_STREAM)
        self.client.connect(listener.getsockname())
        self.server, _ = listener.accept()
        self.stack.enter_context(self.server)
        self.server.settimeout(PATIENCE_S)
        self.soak = soak

    def exchange(self, n):
        """A datagram of the flow there and back; the address it had outside."""
        ends = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends:
            token = os.urandom(8)
            self.flows[n].sendto(token, (self.server_address, ECHO_PORT))
            with contextlib.suppress(TimeoutError):
                said = b""
                while said != token:
                    said, address = self.echo.recvfrom(100)
                self.echo.sendto(token, address)
                while self.flows[n].recv(100) != token:
                    pass
                return address
        raise AssertionError(f"no answer to flow {n}")

    def check(self, soak):
        for n in range(FLOWS):
            mark = self.exchange(n)
            assert self.marks.setdefault(n, mark) == mark, \
                f"flow {n} had {self.marks[n]}, and has {mark}"
        for _ in range(TCP_ROUNDS):
            pass_on(self.client, self.server, self)
            pass_on(self.server, self.client, self)

    def read(self):
        """For pass_on()."""

    @property
    def said(self):
        return self.soak.said


class Hotconfig:
    """One whose text the handler `hotconfig` changes, by a control socket."""

    def change(self, soak, sure=True):
        with contextlib.suppress(() if sure else (OSError, AssertionError, IndexError)):
            control = connect(self.folder / "socket")
            control.readline()
            text = " ".join(line.split("//")[0] for line in self.text.splitlines())
            more = f"Idle -> c{self.chance.randrange(9)} :: Counter -> Discard;"
            answer = ask(control, f"WRITE hotconfig {text} {more}")
            control.close()
            assert answer[0].startswith("200"), answer


class Nat(Hotconfig, Between):
    """examples/click/nat.click."""

    text = NAT

    def words(self):
        return ["click", "-R", "-u", self.folder / "socket", "-e", self.text, "--device",
                "0=packet:in0", "--device", "1=packet:out0"]


class Reread(Between):
    """One whose configuration is a file, which SIGHUP lets it read again. What was written
    last counts, whoever runs."""

    FILE = "box.json"

    def write(self):
        new = self.folder / "new"
        with contextlib.suppress(OSError):  # the file system is full
            new.write_text(self.text())
            os.rename(new, self.folder / self.FILE)

    def change(self, soak, sure=True):
        runs, waiting = soak.processes()
        self.alter()
        self.write()
        for pid in runs + (self.chance.choice([[], waiting]) if not sure else []):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGHUP)


class Firewall(Reread):
    """Filters with a table of connections: from outside only what answers comes in, and what
    goes to one port, which changes."""

    FILE = "box.json"

    def __init__(self, stack, folder, chance):
        super().__init__(stack, folder, chance, gateway=None, outside="10.0.0.7/24")
        self.alter()
        self.write()

    def alter(self):
        self.open = self.chance.choice(OPEN_PORTS)

    def text(self):
        where = "apps.packet_filter.pcap_filter.PcapFilter"
        return json.dumps({
            "ports": {"in": "packet:in0", "out": "packet:out0"},
            "apps": {
                "sent": {"class": where, "arg": {"filter": "ip or arp", "state_table": "box"}},
                "got": {"class": where, "arg": {
                    "filter": f"arp or udp dst port {self.open}", "state_table": "box"}}},
            "links": ["in -> sent -> out", "out -> got -> in"]})

    def words(self):
        return ["run", self.folder / self.FILE]

    def connect(self, soak):
        super().connect(soak)
        self.listeners = {}
        for port in OPEN_PORTS:
            self.listeners[port] = self.socket(self.inside)
            self.listeners[port].bind((INSIDE, port))
            self.listeners[port].setblocking(False)
        self.strangers = itertools.cycle(range(20000, 32000))

    def passing(self):
        """The ports to which a datagram of a stranger's comes."""
        came, token = set(), os.urandom(8)
        with self.outside.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.bind((self.server_address, next(self.strangers)))
            for port in [*OPEN_PORTS, self.open]:
                one.sendto(token, (INSIDE, port))
        time.sleep(0.05)
        for port, one in self.listeners.items():
            with contextlib.suppress(BlockingIOError):
                while True:
                    if one.recv(100) == token:
                        came.add(port)
        return came

    def check(self, soak):
        super().check(soak)
        wait_until(lambda: self.passing() == {self.open},
                   lambda: f"only {self.open} to be open: {self.passing()} are", PATIENCE_S)
        for _ in range(3):
            assert self.passing() <= {self.open}


class Nfv(Firewall):
    """A switch whose guest's filter does the same. The guest is another process, which passes
    on what it gets to the host inside."""

    CPUS = (None,)
    FILE = "box.cfg"
    GUEST = {"ports": {"vm": "virtio-user:%s", "wire": "packet:in0"},
             "links": ["vm -> wire", "wire -> vm"]}

    def connect(self, soak):
        guest, path = self.folder / "guest.json", self.folder / "A.sock"
        guest.write_text(json.dumps(self.GUEST).replace("%s", str(path)))
        wait_until(path.exists, "the guest's socket", PATIENCE_S)
        self.guest = self.stack.enter_context(running(
            *self.namespace.command(PERIGEE, "run", guest),
            env={**os.environ, "SNABB_SHM_ROOT": f"{self.folder}/guest"}))
        super().connect(soak)

    def alter(self):
        super().alter()
        self.others = self.chance.randrange(3)

    def text(self):
        mac = json.loads(self.inside.ip("-json", "link", "show", "eth0"))[0]["address"]
        other = [{"port_id": f"B{n}", "mac_address": f"02:00:00:00:00:{n:02x}"}
                 for n in range(self.others)]
        return config({"port_id": "A", "mac_address": mac, "egress_filter": "ip or arp",
                       "ingress_filter": f"arp or udp dst port {self.open}",
                       "stateful_filter": True}, *other)

    def check(self, soak):
        assert self.guest.read(), self.guest.said
        super().check(soak)

    def words(self):
        return ["nfv", "traffic", "-l", "0", "--server", "packet:out0",
                self.folder / self.FILE, self.folder / "%s.sock"]


class Balancer(Hotconfig, Between):
    """examples/click/balancer.click, and one of a flow manager: each connection stays with its
    server."""

    SERVERS = [f"10.0.0.{n}" for n in range(11, 15)]
    SERVICE, CLIENT = "10.0.0.80", "198.51.100.5"
    TEXT = (ROOT / "examples/click/balancer.click").read_text()
    MANAGED = TEXT[:TEXT.index("servers ::")] + """
kind [2] -> Strip(14) -> CheckIPHeader
  -> way :: IPClassifier(dst host $SERVICE && tcp, src net 10.0.0.0/24 && tcp, -)
way [2] -> Discard
way [0] -> flows :: FlowIPManager(TIMEOUT 86400)
  -> balance :: FlowIPLoadBalancer(DST 10.0.0.11, DST 10.0.0.12, DST 10.0.0.13,
                                   DST 10.0.0.14, VIP $SERVICE)
  -> GetIPAddress(16) -> arp
way [1] -> answers :: FlowIPManager(TIMEOUT 86400) -> FlowIPLoadBalancerReverse(balance)
  -> SetIPAddress($GATEWAY) -> arp
"""

    def __init__(self, stack, folder, chance):
        self.stack, self.folder, self.chance, self.marks = stack, folder, chance, {}
        self.text = chance.choice([self.TEXT, self.MANAGED])
        self.clients, self.servers, self.namespace, net = (
            Namespace(name) for name in ("clients", "servers", "box", "net"))
        for namespace in (self.clients, self.servers, self.namespace, net):
            stack.callback(namespace.remove)
        net.ip("link", "add", "lan", "type", "bridge")
        net.ip("link", "set", "lan", "up")
        for i, one in enumerate((self.clients, self.servers, self.namespace)):
            veth(net, f"to{i}", one, "eth0", offloads=False)
            net.ip("link", "set", f"to{i}", "master", "lan")
        self.clients.ip("address", "add", "10.0.0.254/24", "dev", "eth0")
        self.clients.ip("address", "add", f"{self.CLIENT}/32", "dev", "eth0")
        for server in self.SERVERS:
            self.servers.ip("address", "add", f"{server}/24", "dev", "eth0")
        self.servers.ip("route", "add", "default", "via", self.SERVICE)

    def words(self):
        return ["click", "-R", "-u", self.folder / "socket", "-e", self.text, "--device",
                "0=packet:eth0"]

    def connect(self, soak):
        self.soak = soak
        with self.servers.entered():
            self.listener = self.stack.enter_context(socket.create_server(("", 80)))
        self.listener.settimeout(PATIENCE_S)
        self.pairs = [self.another() for _ in range(8)]

    def another(self):
        def connected():
            client = self.socket(self.clients, socket.SOCK_STREAM)
            client.bind((self.CLIENT, 0))
            with contextlib.suppress(OSError):  # nobody answers ARP yet
                client.connect((self.SERVICE, 80))
                return client
        client = wait_until(connected, "a connection", PATIENCE_S)
        server, _ = self.listener.accept()
        self.stack.enter_context(server)
        server.settimeout(PATIENCE_S)
        return client, server

    def check(self, soak):
        """A TCP connection that another server got would be reset. New ones come, too."""
        old = self.pairs.pop(self.chance.randrange(len(self.pairs)))
        for one in old:
            one.close()
        self.pairs.append(self.another())
        for client, server in self.pairs:
            pass_on(client, server, self)
            pass_on(server, client, self)
