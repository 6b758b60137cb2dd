# SPDX-License-Identifier: Apache-2.0
"""Tunnels with state, for helpers.state_soak: a VXLAN end point that learns, and an lwAFTR
whose softwires change."""

import contextlib
import json
import os
import re
import socket
import time

from helpers.command import wait_until
from helpers.lwaftr import (B4, BR, INTERNET, LWAFTR4, LWAFTR6, SUBSCRIBER, WHOLE,
                            Net)
from helpers.network import Namespace, Wire
from helpers.state_functions import PATIENCE_S, Reread
from helpers.vtep import Site

STATION = bytes((2, 0, 0, 0, 9, 1))
IP_RECVERR = 11  # linux/in.h
ALL, TYPE = b"\xff" * 6, b"\x88\xb5"


class Vtep(Reread):
    """A station, and others behind three remotes: what is for one of them comes to its remote
    alone, in whatever order the remotes and VNIs stand. Some move."""

    CPUS = (None,)
    FILE = "vtep.json"
    OF_A_REMOTE = 4

    def __init__(self, stack, folder, chance):
        self.stack, self.folder, self.chance = stack, folder, chance

        def make(label):
            made = Namespace(label)
            stack.callback(made.remove)
            return made
        self.site = Site(make, "packet", remotes=3)
        self.namespace = self.site.middle
        self.alter()
        self.write()

    def alter(self):
        remotes = [f"192.0.2.{n}" for n in (2, 3, 4)] + [
            {"address": f"192.0.2.{n}", "mac": "02:00:00:00:00:77"}
            for n in range(50, 50 + self.chance.randrange(4))]
        vnis = {str(n): n - 42 for n in self.chance.sample(range(43, 53), 3)}
        self.chance.shuffle(remotes)
        self.settings = {"vnis": {**vnis, "42": 0}, "remotes": remotes,
                         "ageing": self.chance.choice([86400, 90000])}

    def text(self):
        return json.dumps({"inner": "packet:left", "outer": "packet:right",
                           "address": "192.0.2.1/24", **self.settings})

    def words(self):
        return ["vtep", "--config", self.folder / self.FILE]

    def connect(self, soak):
        self.station = self.stack.enter_context(Wire(self.site.station, "net"))
        self.remotes = [self.stack.enter_context(Wire(one, "vxlan0"))
                        for one in self.site.remotes]
        for wire in [self.station, *self.remotes]:
            wire.socket.setblocking(False)
        self.where = {bytes((2, 0, 0, 1, n, k)): n for n in range(len(self.remotes))
                      for k in range(self.OF_A_REMOTE)}
        for mac in self.where:
            self.learn(mac)

    def came(self, wire):
        """The frames of ours that have come."""
        frames = []
        with contextlib.suppress(BlockingIOError):
            while True:
                frame = wire.socket.recv(2000)
                if frame[12:14] == TYPE:
                    frames.append(frame)
        return frames

    def learn(self, mac):
        """The station speaks, until that is heard here."""
        frame = ALL + mac + TYPE + os.urandom(46)

        def heard():
            self.remotes[self.where[mac]].send(frame)
            time.sleep(0.005)
            return frame in self.came(self.station)
        wait_until(heard, f"a frame of {mac.hex()}", PATIENCE_S)

    def check(self, soak):
        if self.chance.random() < 0.4:
            mac = self.chance.choice(list(self.where))
            self.where[mac] = self.chance.randrange(len(self.remotes))
            self.learn(mac)
        for wire in self.remotes:
            self.came(wire)
        missing = {mac + STATION + TYPE + os.urandom(46) for mac in self.where}

        def all_came():
            for frame in missing:
                self.station.send(frame)
            time.sleep(0.01)
            for n, wire in enumerate(self.remotes):
                for frame in self.came(wire):
                    assert self.where[frame[:6]] == n, \
                        f"what is for {frame[:6].hex()} came to remote {n}, too"
                    missing.discard(frame)
            return not missing
        wait_until(all_came, lambda: f"frames for {[f[:6].hex() for f in missing]}",
                   PATIENCE_S)


class Lwaftr:
    """Pings, also in fragments, both ways; softwires come and go, and are saved."""

    CPUS = (None,)
    EXTRA = [f"192.0.2.{n}" for n in range(100, 106)]

    def __init__(self, stack, folder, chance):
        self.folder, self.chance = folder, chance
        self.net = Net()
        stack.callback(self.net.remove)
        stack.enter_context(self.net.tunnel())
        self.namespace = self.net.router
        self.net.internet.ip("route", "add", "192.0.2.0/24", "via", LWAFTR4)
        (folder / "aftr.conf").write_text(WHOLE)
        self.softwires, self.perhaps = {SUBSCRIBER}, None

    def words(self):
        return ["lwaftr", "run", "-c", self.folder / "aftr.conf", "-n", "aftr",
                "--save-config", self.folder / "running.conf"]

    def connect(self, soak):
        pass

    def change(self, soak, sure=True):
        address = self.chance.choice(self.EXTRA)
        where = "/softwire-config/binding-table/softwire"
        if self.perhaps:
            self.softwires = wait_until(lambda: self.found(soak), "the softwires", PATIENCE_S)
            self.perhaps = None
        if address in self.softwires:
            words = ["remove", "aftr", f"{where}[ipv4={address}][psid=0]"]
            due = self.softwires - {address}
        else:
            words = ["add", "aftr", where, "{ ipv4 %s; psid 0; b4-ipv6 %s; br-address %s; "
                     "port-set { psid-length 0; } }" % (address, B4, BR)]
            due = self.softwires | {address}
        done = soak.run("config", *words)
        if done.returncode == 0:
            self.softwires = due
        elif not sure and "before it has answered" in done.stderr:
            self.perhaps = due  # it may be in effect, or soon, as the next process reads it
        assert not sure or done.returncode == 0, done.stderr
        return f"{words[0]}, status {done.returncode} {done.stderr.strip()}"

    def found(self, soak):
        said = soak.run("config", "get", "aftr", "/softwire-config/binding-table/softwire")
        return said.returncode == 0 and set(re.findall(r"ipv4 ([\d.]+);", said.stdout))

    def answers(self, namespace, to, size):
        return namespace.run("ping", "-q", "-c", "1", "-W", "1", "-s", str(size),
                             to).returncode == 0

    def check(self, soak):
        for namespace, to in ((self.net.internet, SUBSCRIBER), (self.net.b4, INTERNET),
                              (self.net.internet, LWAFTR4), (self.net.b4, LWAFTR6)):
            for size in 56, 9000:
                wait_until(lambda: self.answers(namespace, to, size),
                           f"an answer of {to} to {size} bytes", PATIENCE_S)
        found = wait_until(lambda: self.found(soak), "the softwires", PATIENCE_S)
        assert found in (self.softwires, self.perhaps), \
            f"{found} are softwires, not {self.softwires}"
        for address in self.EXTRA:
            if address not in self.softwires | (self.perhaps or set()):
                self.refused(address)

    def refused(self, address):
        with self.net.internet.entered(), socket.socket(socket.AF_INET,
                                                        socket.SOCK_DGRAM) as one:
            one.settimeout(1)
            one.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
            one.connect((address, 9))

            def is_refused():
                try:
                    one.send(b"anybody?")
                    one.recv(10)
                except TimeoutError:
                    return False
                except OSError:
                    return True
            wait_until(is_refused, f"a refusal for {address}", PATIENCE_S)
