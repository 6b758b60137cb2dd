# SPDX-License-Identifier: Apache-2.0
"""Two Perigee processes joined by shared memory: memif, vhost and virtio-user."""

import random
import re
import signal

import pytest

from helpers.capture import load, save
from helpers.command import PERIGEE, ROOT, perigee, running, wait_until
from helpers.report import account, port_statistics

BRIDGE = ROOT / "test" / "chained_bridge.lua"
COUNT = 20_000


@pytest.fixture(params=["memif", "vhost"])
def ends(request, tmp_path):
    """The port strings of the end that makes the socket, and of the other."""
    socket = tmp_path / "socket"
    return {
        "memif": (f"memif:{socket},role=server", f"memif:{socket}"),
        "vhost": (f"vhost:{socket}", f"virtio-user:{socket}"),
    }[request.param]


@pytest.fixture
def packets():
    rng = random.Random(COUNT)
    return [rng.randbytes(rng.randint(60, 1514)) for _ in range(COUNT)]


def echo(port):
    """Without apps in between nothing can be dropped where a queue is full."""
    return running(PERIGEE, "echo", port, 0)


def send(tmp_path, port):
    """Send tmp_path/a.pcap to the port and write what comes back to b.pcap."""
    ends = f"pcap:rx={tmp_path / 'a.pcap'},tx={tmp_path / 'b.pcap'}"
    return running(PERIGEE, "run", BRIDGE, ends, port, 0)


def wait_for_socket(tmp_path, server):
    def made():
        assert server.read(), server.said
        return (tmp_path / "socket").exists()
    wait_until(made, "the socket")


def exchange(tmp_path, port):
    """Send a.pcap and wait until it is all back; the sender's output."""
    a, b = tmp_path / "a.pcap", tmp_path / "b.pcap"
    b.unlink(missing_ok=True)
    with send(tmp_path, port) as sender:
        def back():
            assert sender.read(), sender.said
            return b.exists() and b.stat().st_size >= a.stat().st_size
        wait_until(back, "all packets to come back")
        assert sender.interrupt() == 0, sender.said
    return sender.said


def test_every_packet_goes_there_and_back(tmp_path, ends, packets):
    save(tmp_path / "a.pcap", packets)
    with echo(ends[0]) as server:
        wait_for_socket(tmp_path, server)
        said = exchange(tmp_path, ends[1])
        assert server.interrupt() == 0, server.said
    assert list(load(tmp_path / "b.pcap")) == packets
    size = sum(map(len, packets))
    for text, port in (said, ends[1]), (server.said, ends[0]):
        stats = port_statistics(text)[port]
        assert stats["ipackets"] == stats["opackets"] == COUNT
        assert stats["obytes"] == size
    assert account(server.said)["received"] == account(server.said)["sent"] == COUNT
    assert account(said)["received"] == account(said)["sent"] == 2 * COUNT


def test_a_killed_client_is_followed_by_another(tmp_path, ends, packets):
    save(tmp_path / "a.pcap", packets)
    with echo(ends[0]) as server:
        wait_for_socket(tmp_path, server)
        with running(PERIGEE, "packetblaster", "synth", ends[1]) as client:
            client.wait_for_engine()
            assert client.runs_for(1), client.said  # it floods the server
            assert client.interrupt(signal.SIGKILL) == -signal.SIGKILL
        assert server.read(), server.said
        exchange(tmp_path, ends[1])
        assert server.interrupt() == 0, server.said
    back = list(load(tmp_path / "b.pcap"))
    # What was on the way to the one that was killed may come to the other.
    ours = set(packets)
    assert [packet for packet in back if packet in ours] == packets
    a = account(server.said)
    assert a["received"] == a["sent"] + a["in links"] + a["freed"] > COUNT


def test_a_killed_server_does_not_take_the_client_along(tmp_path, ends):
    with echo(ends[0]) as server:
        wait_for_socket(tmp_path, server)
        with running(PERIGEE, "packetblaster", "synth", ends[1]) as client:
            client.wait_for_engine()
            assert client.runs_for(1), client.said
            assert server.interrupt(signal.SIGKILL) == -signal.SIGKILL
            assert client.runs_for(0.5), client.said
            assert client.interrupt() == 0, client.said


@pytest.mark.parametrize("port", ["memif:%s,role=server", "vhost:%s",
                                  "virtio-user:%s,server=1"])
def test_a_killed_server_is_followed_by_another(tmp_path, port):
    port %= tmp_path / "socket"
    with echo(port) as first:
        wait_for_socket(tmp_path, first)
        assert first.interrupt(signal.SIGKILL) == -signal.SIGKILL
    with echo(port) as second:
        second.wait_for("removed the socket that a process left as it ended")
        wait_for_socket(tmp_path, second)
        assert second.runs_for(0.2), second.said


@pytest.mark.parametrize("server, client", [
    ("memif:socket,role=server", "memif:./socket"), ("vhost:socket", "virtio-user:socket"),
    ("virtio-user:./socket,server=1", "vhost:socket,client=1")])
def test_a_socket_in_the_working_directory(tmp_path, server, client):
    with running(PERIGEE, "echo", server, 0, cwd=tmp_path) as first:
        wait_for_socket(tmp_path, first)
        result = perigee("generate", "--count", 1000, "--port", client, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert first.interrupt() == 0, first.said
    assert account(first.said)["received"] == 1000
    assert not (tmp_path / "socket").exists()


def test_a_socket_whose_path_is_as_long_as_may_be(tmp_path):
    """107 bytes. DPDK 24.11 takes 128 for all arguments of what it probes by itself."""
    deep = tmp_path / "d" / ("d" * (104 - len(str(tmp_path / "d"))))
    deep.mkdir(parents=True)
    socket = f"memif:{deep / 's'}"
    assert len(socket) == len("memif:") + 107
    with running(PERIGEE, "echo", f"{socket},role=server", 0) as server:
        wait_until((deep / "s").exists, "the socket")
        result = perigee("generate", "--count", 1000, "--port", socket)
        assert result.returncode == 0, result.stderr
        assert server.interrupt() == 0, server.said
    assert account(server.said)["received"] == 1000


def test_a_memif_socket_deep_in_the_tree(tmp_path):
    """A path that is short enough as it is written may lie anywhere."""
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    with running(PERIGEE, "echo", "memif:m,role=server", 0, cwd=deep) as server:
        wait_until(lambda: server.read() and (deep / "m").exists(), "the socket")
        result = perigee("generate", "--count", 10, "--port", "memif:m", cwd=deep)
        assert result.returncode == 0, result.stderr
        assert server.interrupt() == 0, server.said


RING = """
local basic = require("apps.basic.basic_apps")
local Port = require("apps.port.port").Port
local c = config.new()
config.app(c, "source", Port, "pcap:rx=%(a)s,tx=%(b)s")
config.app(c, "one", Port, "ring:between")
config.app(c, "two", Port, "ring:between")
config.link(c, "source.output -> one.input")
config.link(c, "one.output -> source.input")
config.link(c, "two.output -> two.input")
engine.configure(c)
local apps = engine.app_table
engine.main{done = function ()
  return tonumber(apps.source.port.txpackets) == %(count)d
end}
"""


def test_a_ring_joins_two_networks_of_one_process(tmp_path, packets):
    a, b = save(tmp_path / "a.pcap", packets), tmp_path / "b.pcap"
    script = tmp_path / "ring.lua"
    script.write_text(RING % {"a": a, "b": b, "count": COUNT})
    with running(PERIGEE, "run", script) as program:
        assert program.finish() == 0, program.said
    assert list(load(b)) == packets
    assert account(program.said)["sent"] == 3 * COUNT
