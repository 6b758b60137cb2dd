# SPDX-License-Identifier: Apache-2.0
"""`perigee lwaftr run` between two namespaces, with the kernel as the internet and as the
B4: ICMP, TCP, fragments and errors through it, and what operators do with it."""

import os
import signal
import socket
import threading

import pytest

from helpers.command import perigee, wait_until
from helpers.lwaftr import (B4, BR, INTERNET, LWAFTR4, LWAFTR6, PORT_SET, SHARED,
                            SUBSCRIBER, WHOLE, Net, lwaftr)

NAME = f"lwaftr-test-{os.getpid()}"
pytestmark = pytest.mark.skipif(os.geteuid() != 0,
                                reason="namespaces need root")


@pytest.fixture(scope="module")
def net():
    net = Net()
    try:
        with net.tunnel():
            yield net
    finally:
        net.remove()


@pytest.fixture
def conf(tmp_path):
    path = tmp_path / "a.conf"
    path.write_text(WHOLE)
    return path


def ping(namespace, to, *options, count=2):
    """How many of the pings were answered; at once, or not at all."""
    result = namespace.run("ping", "-q", "-c", str(count), "-i", "0.1", "-W", "20",
                           *options, to)
    return int(result.stdout.split(" received")[0].split()[-1])


def counter(name):
    said = perigee("lwaftr", "query", NAME, name).stdout.splitlines()[1:]
    found = [line.split()[1] for line in said if line.split(":")[0] == name]
    return int(found[0].replace(",", "")) if found else 0


def await_counter(name, least=1):
    """Other processes see counters up to 50 ms late."""
    wait_until(lambda: counter(name) >= least, "%s of %d" % (name, least))


def config(*words, **kwargs):
    return perigee("config", words[0], NAME, *words[1:], **kwargs)


def carry(sender, receiver, to, port, local, data):
    """What a server in `receiver` gets of `data`, sent over TCP by `sender`."""
    received = bytearray()
    with receiver.entered():
        server = socket.create_server((to, port))
    with sender.entered():
        client = socket.socket()
    client.bind(local)

    def serve():
        connection, _ = server.accept()
        with connection:
            while piece := connection.recv(1 << 16):
                received.extend(piece)

    with server, client:
        thread = threading.Thread(target=serve)
        thread.start()
        client.settimeout(30)
        client.connect((to, port))
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        thread.join(30)
    return bytes(received)


def test_carries_what_the_kernel_sends(net, conf):
    with lwaftr(net, conf, name=NAME) as process:
        # From both sides; through the tunnel in fragments; what is too big; itself.
        assert ping(net.internet, SUBSCRIBER) == 2
        assert ping(net.b4, INTERNET) == 2
        assert ping(net.internet, SUBSCRIBER, "-s", "9000") == 2
        assert ping(net.b4, INTERNET, "-s", "9000") == 2
        assert ping(net.internet, LWAFTR4) == 2
        assert ping(net.b4, LWAFTR6) == 2
        said = net.internet.run("ping", "-c", "1", "-W", "2", "-M", "do", "-s", "1470",
                                SUBSCRIBER).stdout
        assert "mtu = 1460" in said
        await_counter("in-ipv4-frag-reassembled")
        await_counter("in-ipv6-packets", 4)
        data = os.urandom(1 << 20)
        assert carry(net.internet, net.b4, SUBSCRIBER, 80, ("", 0), data) == data
        assert carry(net.b4, net.internet, INTERNET, 80, (SUBSCRIBER, 0), data) == data
        assert process.interrupt(signal.SIGTERM) == 0, process.said


def test_passes_icmp_errors_both_ways(net, conf):
    with lwaftr(net, conf, name=NAME):
        # The B4's kernel says that nobody listens; so does the internet's.
        for at, to in (net.internet, SUBSCRIBER), (net.b4, INTERNET):
            with at.entered():
                udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            with udp:
                udp.settimeout(5)
                udp.connect((to, 9))
                udp.send(b"anybody?")
                with pytest.raises(ConnectionRefusedError):
                    udp.recv(100)


def test_keeps_to_port_sets_and_changes_softwires(net, tmp_path):
    conf = tmp_path / "a.conf"
    conf.write_text(SHARED)
    data = os.urandom(20000)
    own = f"/softwire-config/binding-table/softwire[ipv4={SUBSCRIBER}][psid=5]"
    with lwaftr(net, conf, name=NAME):
        mine = (SUBSCRIBER, PORT_SET[7])
        assert carry(net.b4, net.internet, INTERNET, 80, mine, data) == data
        with net.internet.entered():
            stranger = socket.socket()
        with stranger:
            stranger.settimeout(5)
            with pytest.raises(OSError):  # host unreachable (RFC 7596)
                stranger.connect((SUBSCRIBER, PORT_SET[-1] + 1))
        await_counter("drop-no-dest-softwire-ipv4-packets")
        assert config("remove", own).returncode == 0
        assert config("get", own).returncode == 1
        added = config("add", "/softwire-config/binding-table/softwire",
                       "{ ipv4 %s; psid 0; b4-ipv6 %s; br-address %s; "
                       "port-set { psid-length 0; } }" % (SUBSCRIBER, B4, BR))
        assert added.returncode == 0, added.stderr
        assert ping(net.internet, SUBSCRIBER) == 2


def test_tells_when_it_is_ready(net, conf, tmp_path):
    file = tmp_path / "ready"
    with lwaftr(net, conf, "--ready-file", file, name=NAME) as process:
        assert file.read_text() == "ready\n"
        assert perigee("lwaftr", "drain", NAME).stdout == "draining\n"
        assert not file.exists()
        result = perigee("lwaftr", "query", NAME, "--ready")
        assert (result.returncode, result.stderr) == (
            1, "perigee: not ready: draining\n")
        assert ping(net.internet, SUBSCRIBER) == 2  # packets go on
        process.send(signal.SIGUSR2)
        wait_until(file.exists, "the end of draining")
        process.interrupt()
        assert not file.exists()
        assert perigee("lwaftr", "query", NAME, "--ready").returncode != 0
