# SPDX-License-Identifier: Apache-2.0
"""Ports in memory shared with another process, whose peers die by kill -9 at any moment,
come back, or are two at a time. PERIGEE_LONG=1: ten times as many."""

import os
import random
import re
import signal
import socket
import struct
import threading
import time

import pytest

from helpers.capture import load, save
from helpers.command import PERIGEE, ROOT, perigee, running, wait_until
from helpers.late import serve_late
from helpers.report import account, port_statistics

BRIDGE = ROOT / "test" / "chained_bridge.lua"
MORE = 10 if os.environ.get("PERIGEE_LONG") else 1
ROUNDS = {"memif": 3 * MORE, "vhost": 3 * MORE, "virtio-user": 10 * MORE}
COUNT = 500
PACKETS = [bytes([n % 256]) * (60 + n) for n in range(COUNT)]

# The end that lives, and its peers.
ENDS = {
    "memif": ("memif:%s,role=server", "memif:%s"),
    "vhost": ("vhost:%s", "virtio-user:%s"),
    "virtio-user": ("virtio-user:%s,server=1", "vhost:%s,client=1"),
}


@pytest.fixture(params=ENDS)
def ends(request, tmp_path):
    save(tmp_path / "a.pcap", PACKETS)
    path = tmp_path / "socket"
    return [port % path for port in ENDS[request.param]]


def echo(tmp_path, port):
    """An echo without apps in between, where nothing is dropped when a queue is full."""
    return running(PERIGEE, "echo", port, 0)


def wait_for_socket(tmp_path, server):
    wait_until(lambda: server.read() and (tmp_path / "socket").exists(), "the socket")


def sender(tmp_path, port, back="b"):
    """Sends a.pcap to the port, and writes what comes back."""
    (tmp_path / f"{back}.pcap").unlink(missing_ok=True)
    files = f"pcap:rx={tmp_path / 'a.pcap'},tx={tmp_path / back}.pcap"
    return running(PERIGEE, "run", BRIDGE, files, port, 0)


def has_come(tmp_path, back="b"):
    """Has what a sender sent come back, behind what others had sent before they died?"""
    file = tmp_path / f"{back}.pcap"
    size = (tmp_path / "a.pcap").stat().st_size
    try:
        return file.exists() and file.stat().st_size >= size \
            and list(load(file))[-COUNT:] == PACKETS
    except AssertionError:  # it is being written
        return False


def wait_for_all(tmp_path, server, peer):
    def came():
        assert server.read(), server.said
        assert peer.read(), peer.said
        return has_come(tmp_path)
    wait_until(came, "all packets to come back", timeout=120)


def no_complaint(said):
    assert "traceback" not in said and "EAL" not in said and "PANIC" not in said, said


def test_peers_that_die_at_any_moment(tmp_path, ends):
    ours, peers = ends
    rng, rounds = random.Random(ours), ROUNDS[ours.split(":")[0]]
    with echo(tmp_path, ours) as server:
        wait_for_socket(tmp_path, server)
        for _ in range(rounds):
            with running(PERIGEE, "packetblaster", "synth", peers) as flood:
                flood.runs_for(rng.uniform(0, 0.7))
                assert flood.interrupt(signal.SIGKILL) == -signal.SIGKILL, flood.said
            with sender(tmp_path, peers) as peer:
                wait_for_all(tmp_path, server, peer)
                assert peer.interrupt(signal.SIGKILL) == -signal.SIGKILL
        assert server.interrupt() == 0, server.said
    no_complaint(server.said)
    a = account(server.said)
    assert a["received"] == a["sent"] + a["in links"] + a["freed"] >= rounds * COUNT
    # Some drivers forget what they counted of a peer that has gone: the port doesn't.
    stats = port_statistics(server.said)[ours]
    assert stats["ipackets"] >= a["received"]
    assert not (tmp_path / "socket").exists()


def test_a_second_peer_does_no_harm(tmp_path, ends):
    """One of virtio-user waits for its turn. (The second of vhost takes the first's place;
    that of memif gets no link.)"""
    ours, peers = ends
    with echo(tmp_path, ours) as server:
        wait_for_socket(tmp_path, server)
        with sender(tmp_path, peers, "first") as first, \
                sender(tmp_path, peers, "second") as second:
            wait_until(lambda: has_come(tmp_path, "first") or
                       has_come(tmp_path, "second"), "the first one's packets")
            assert first.runs_for(1) and second.read(), first.said + second.said
            one, other = (first, "second"), (second, "first")
            gone, left = one if has_come(tmp_path, "first") else other
            assert gone.interrupt(signal.SIGKILL) == -signal.SIGKILL
            if ours.startswith("virtio-user"):
                wait_until(lambda: has_come(tmp_path, left), "the second one's packets")
        with sender(tmp_path, peers) as third:
            wait_for_all(tmp_path, server, third)
            assert third.interrupt() == 0, third.said
        assert server.interrupt() == 0, server.said
    no_complaint(server.said)


@pytest.fixture
def served(tmp_path):
    """An echo that serves tmp_path/socket by virtio-user."""
    with echo(tmp_path, f"virtio-user:{tmp_path / 'socket'},server=1") as server:
        wait_for_socket(tmp_path, server)
        yield server


def connect(tmp_path):
    """A connection; the socket's file may be there before its server listens."""
    peer = socket.socket(socket.AF_UNIX)
    wait_until(lambda: peer.connect_ex(str(tmp_path / "socket")) == 0, "a server")
    return peer


def test_peers_that_say_nothing_or_nonsense(tmp_path, served):
    """They are given up after a while, one after the other, and a good one is served."""
    save(tmp_path / "a.pcap", PACKETS)
    silent = connect(tmp_path)
    served.wait_for("doesn't answer", timeout=10)
    rng = random.Random(1)
    for length in 0, 1, 11, 12, 13, 20, 300:
        with connect(tmp_path) as peer:
            peer.sendall(rng.randbytes(length))
    silent.close()
    with sender(tmp_path, f"vhost:{tmp_path / 'socket'},client=1") as peer:
        wait_for_all(tmp_path, served, peer)
        assert peer.interrupt() == 0, peer.said
    assert served.interrupt() == 0, served.said
    assert served.said.count("doesn't answer") == 1
    no_complaint(served.said)


def test_a_server_that_says_nothing_is_refused(tmp_path):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        result = perigee("echo", f"virtio-user:{path}", timeout=20)
    assert result.returncode == 1
    assert re.fullmatch(f"perigee: .*port 'virtio-user:{path}': who serves the socket "
                        f"'{path}' doesn't answer, or can't use this memory\n",
                        result.stderr), result.stderr


def test_a_server_that_takes_its_time_is_waited_for(tmp_path):
    """DPDK's needs up to a second until it looks for who connects to its socket."""
    save(tmp_path / "a.pcap", PACKETS)
    late = tmp_path / "late"
    with echo(tmp_path, f"vhost:{tmp_path / 'socket'}") as server:
        wait_for_socket(tmp_path, server)
        serve_late(late, tmp_path / "socket", 1.5)
        with sender(tmp_path, f"virtio-user:{late}") as peer:
            wait_for_all(tmp_path, server, peer)
            assert peer.interrupt() == 0, peer.said
        assert server.interrupt() == 0, server.said


def test_it_ends_before_any_peer_comes(tmp_path, served):
    assert served.runs_for(0.3), served.said
    assert served.interrupt() == 0, served.said
    assert not (tmp_path / "socket").exists()


def test_a_peer_that_stands_still_holds_nothing_up(tmp_path, served):
    save(tmp_path / "a.pcap", PACKETS)
    with sender(tmp_path, f"vhost:{tmp_path / 'socket'},client=1") as peer:
        wait_for_all(tmp_path, served, peer)
        peer.send(signal.SIGSTOP)
        assert served.interrupt() == 0, served.said
        peer.send(signal.SIGCONT)
        assert peer.interrupt() == 0, peer.said


def test_a_client_finds_the_next_server(tmp_path):
    """The other way round: the port connects, and who serves the socket dies."""
    save(tmp_path / "a.pcap", PACKETS)
    path = tmp_path / "socket"
    with running(PERIGEE, "run", BRIDGE, f"vhost:{path}", "ring:x", 0) as first:
        wait_for_socket(tmp_path, first)
        with echo(tmp_path, f"virtio-user:{path}") as client:
            client.wait_for_engine()
            assert client.runs_for(0.5), client.said
            for _ in range(3):
                first.interrupt(signal.SIGKILL)
                with sender(tmp_path, f"vhost:{path}") as server:
                    wait_for_all(tmp_path, client, server)
                    server.interrupt(signal.SIGKILL)
            assert client.interrupt() == 0, client.said
    no_complaint(client.said)


# A port that is opened and closed, while peers come and go.
FLIP = """
local basic = require("apps.basic.basic_apps")
local dirent = require("posix.dirent")
local Port = require("apps.port.port").Port
local port, rounds = ...

local function descriptors()
  local n = 0
  for _ in dirent.files("/proc/self/fd") do n = n + 1 end
  return n
end

local function graph(open)
  local c = config.new()
  config.app(c, "sink", basic.Sink)
  if open then
    config.app(c, "port", Port, port)
    config.link(c, "port.output -> sink.input")
  end
  return c
end

for i = 1, tonumber(rounds) do
  engine.configure(graph(true))
  engine.main{duration = 0.1 * math.random(), no_report = true}
  engine.configure(graph(false))
  print("descriptors " .. descriptors())
end
"""

# Of memif's control messages (net_memif's memif.h).
MEMIF_INIT, MEMIF_ADD_REGION = 3, 4
MEMIF_BYTES, MEMIF_VERSION = 128, 0x200


def memif_client(path, rng):
    """One that gets as far as it may, and goes."""
    def send(peer, kind, body, fds=()):
        message = (struct.pack("<H", kind) + body).ljust(MEMIF_BYTES, b"\0")
        socket.send_fds(peer, [message], fds)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.settimeout(0.2)
        peer.connect(str(path))
        steps = rng.randrange(4)
        if steps > 0:
            peer.recv(MEMIF_BYTES)
            time.sleep(rng.choice((0, 0, rng.uniform(0, 0.02))))
            send(peer, MEMIF_INIT, struct.pack("<HIB", MEMIF_VERSION, 0, 0))
        if steps > 1:
            peer.recv(MEMIF_BYTES)
        if steps > 2:
            region = os.memfd_create("region")
            os.ftruncate(region, 1 << 16)
            send(peer, MEMIF_ADD_REGION, struct.pack("<HQ", 0, 1 << 16), [region])
            os.close(region)
        time.sleep(rng.choice((0, rng.uniform(0, 0.03))))


def vhost_client(path, rng):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(path))
        if rng.random() < 0.5:  # a message of the protocol: get or set features, owner
            peer.sendall(struct.pack("<III", rng.choice((1, 3, 15)), 1, 0))
        time.sleep(rng.choice((0, rng.uniform(0, 0.03))))


@pytest.mark.parametrize("port, client", [
    ("memif:%s,role=server", memif_client), ("vhost:%s", vhost_client),
    ("virtio-user:%s,server=1", vhost_client)])
def test_a_port_that_is_closed_while_peers_come_and_go(tmp_path, port, client):
    path, script = tmp_path / "socket", tmp_path / "flip.lua"
    script.write_text(FLIP)
    over, times = threading.Event(), []

    def come_and_go(seed):
        rng = random.Random(seed)
        while not over.is_set():
            try:
                client(path, rng)
                times.append(1)
            except OSError:  # the socket isn't there just now
                time.sleep(0.001)
    clients = [threading.Thread(target=come_and_go, args=[seed]) for seed in range(3)]
    with running(PERIGEE, "run", script, port % path, 30 * MORE) as program:
        for thread in clients:
            thread.start()
        try:
            assert program.finish(timeout=600) == 0, program.said
        finally:
            over.set()
            for thread in clients:
                thread.join()
    assert len(times) > 20
    no_complaint(program.said)
    counts = list(map(int, re.findall(r"^descriptors (\d+)$", program.said, re.M)))
    assert len(counts) == 30 * MORE
    assert max(counts[10:]) <= max(counts[:10]) + 4, counts  # a peer's may go a bit later
