# SPDX-License-Identifier: Apache-2.0
"""Two hosts of which one is master and the other holds its records ready, and a NAT on each
between the same two networks."""

import contextlib
import os
import re
import signal
import socket
import struct

import pytest

from helpers.command import PERIGEE, ROOT, run, running
from helpers.network import Namespace, veth

INSIDE, OUTSIDE = "10.0.0.5", "192.0.2.254"
PORT, CHUNK = 4000, bytes(range(256)) * 64
TOKEN = "0123456789abcdef0123456789abcdef"
# Ports in order: without the other host's records a connection would get another one.
NAT = (ROOT / "examples/click/nat.click").read_text().replace(
    "nat :: IPRewriter(pattern outside 1024-65535 ", "nat :: IPRewriter(pattern outside 1024-65535# ")
assert "65535#" in NAT


class Host:
    """A host that may be master: with a root of shared memory, and a token, of its own."""

    def __init__(self, folder, token, namespace=None, address="127.0.0.1", port=None):
        folder.mkdir()
        self.folder, self.namespace, self.address = folder, namespace, address
        self.port = port or 7373
        (folder / "token").write_text(token + "\n")
        (folder / "token").chmod(0o600)
        self.environment = {**os.environ, "SNABB_SHM_ROOT": str(folder / "shm"),
                            "PERIGEE_REPLICATE_TOKEN": str(folder / "token")}

    def words(self, *words):
        words = [str(PERIGEE), *map(str, words)]
        return self.namespace.command(*words) if self.namespace else words

    def start(self, *words):
        return running(*self.words(*words), env=self.environment)

    def run(self, *words):
        return run(*self.words(*words), env=self.environment)

    def replicate(self, other, *options):
        return self.start("replicate", "x", f"{other.address}:{other.port}", "--listen",
                          f"{self.address}:{self.port}", *options)

    def notify(self, role, name="x"):
        result = self.run("notify", name, role)
        assert result.returncode == 0, result

    def records(self):
        found = re.search(r": (\d+) records", self.run("keep", "list").stdout)
        return int(found.group(1)) if found else 0

    def check(self):
        return self.run("keep", "check", "x")

    def metric(self, name):
        text = self.run("metrics").stdout
        found = re.search(rf'app="replica",name="{name}"\}} (\d+)', text)
        return int(found.group(1)) if found else None


class Net:
    """A host inside and one outside, each a bridge with both NATs on it; the NATs' hosts
    have a link of their own."""

    def __init__(self, stack, folder):
        self.inside, self.outside, a, b = (
            Namespace(name) for name in ("inside", "outside", "nata", "natb"))
        self.nats = [a, b]
        for namespace in (self.inside, self.outside, a, b):
            stack.callback(namespace.remove)
        for end, address in (self.inside, INSIDE), (self.outside, OUTSIDE):
            end.ip("link", "add", "br0", "type", "bridge")
            end.check("ethtool", "-K", "br0", "tx", "off", "tso", "off", "gso", "off")
            end.ip("address", "add", f"{address}/24", "dev", "br0")
            end.ip("link", "set", "br0", "up")
        for nat in self.nats:
            for end, name in (self.inside, "in0"), (self.outside, "out0"):
                veth(end, nat.name[-8:], nat, name, offloads=False)
                end.ip("link", "set", nat.name[-8:], "master", "br0")
        self.inside.ip("route", "add", "default", "via", "10.0.0.1")
        veth(a, "sync0", b, "sync0")
        for i, nat in enumerate(self.nats):
            nat.ip("address", "add", f"10.9.0.{i + 1}/24", "dev", "sync0")
        self.hosts = [Host(folder / name, TOKEN, nat, f"10.9.0.{i + 1}")
                      for i, (name, nat) in enumerate(zip("ab", self.nats))]

    def router(self, host, nat=NAT):
        return host.start("--keep", "x", "click", "-e", nat, "--device", "0=packet:in0",
                          "--device", "1=packet:out0")

    def cut(self, i):
        """The host's interfaces towards packets go down, as of one that dies."""
        for end in self.inside, self.outside:
            end.ip("link", "set", self.nats[i].name[-8:], "down")

    def mend(self, i):
        for end in self.inside, self.outside:
            end.ip("link", "set", self.nats[i].name[-8:], "up")

    def connected(self, stack, translated="192.0.2.1"):
        """Both ends of the second TCP connection through the NAT: it has not the port
        that the first one of another NAT gets, too. The first one has been reset."""
        with self.outside.entered():
            listener = stack.enter_context(socket.create_server((OUTSIDE, PORT)))
        for i in range(2):
            with self.inside.entered():
                client = stack.enter_context(socket.socket())
            client.settimeout(60)
            client.connect((OUTSIDE, PORT))
            server, (address, _) = listener.accept()
            stack.enter_context(server)
            server.settimeout(60)
            assert address == translated
            if i == 0:
                reset(client, server)
        return client, server


def reset(client, server):
    """The client ends the connection with a reset, and the server hears of it."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    with pytest.raises(ConnectionResetError):
        server.recv(1)


def pass_on(client, server, router=None):
    """Send a chunk from one end to the other; a failure says what the router has said."""
    client.sendall(CHUNK)
    got = b""
    while len(got) < len(CHUNK):
        try:
            data = server.recv(len(CHUNK) - len(got))
        except TimeoutError:
            if router:
                router.read()
            pytest.fail(f"{len(got)} bytes of {len(CHUNK)} came; the router said "
                        f"{router and router.said}")
        assert data, router and router.said
        got += data
    assert got == CHUNK


def kill(process):
    process.send(signal.SIGKILL)
    process.finish()


FLOWS = """
FastUDPFlows(2000, -1, 60, 2:2:2:2:2:2, 10.0.0.1, 3:3:3:3:3:3, 10.0.0.2, 5000, 3)
  -> Strip(14) -> CheckIPHeader
  -> nat :: IPRewriter(pattern 192.0.2.1-192.0.2.9 1024-65535 - - 0 1, drop,
                       MAPPING_CAPACITY 3000);
nat[0] -> Discard; nat[1] -> Discard; Idle -> [1] nat;
"""


@pytest.fixture
def hosts(tmp_path):
    """Two, which reach each other at two ports of this machine's."""
    with contextlib.ExitStack() as stack:
        ports = []
        for _ in range(2):
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            ports.append(listener.getsockname()[1])
    (tmp_path / "flows.click").write_text(FLOWS)
    return [Host(tmp_path / name, TOKEN, port=port) for name, port in zip("ab", ports)]


def flows(host):
    return host.start("--keep", "x", "click", host.folder.parent / "flows.click")
