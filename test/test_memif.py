# SPDX-License-Identifier: Apache-2.0
"""memif ports and what else speaks memif: DPDK's net_memif in both roles (in testpmd, a
process of its own), several queues, rings and buffers of other sizes; peers that are killed,
come back, or aren't there."""

import collections
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import time

import pytest

from helpers.capture import load, save
from helpers.command import (
    PERIGEE, ROOT, TIMEOUT_S, perigee, running, tool, wait_until)
from helpers.memif_peer import Gone, connected
from helpers.report import account

BRIDGE, ECHOES = ROOT / "test" / "chained_bridge.lua", ROOT / "test" / "echoes.lua"
LENGTHS = [14, 60, 61, 1514, 2048, 2049, 4096, 9000]
PACKETS = [bytes([n % 256]) * LENGTHS[n % len(LENGTHS)] for n in range(400)]


def end(role, path, *options):
    return ",".join([f"memif:{path}", f"role={role}", *options])


def echo_of_dpdk(role, path, *options, mode="io"):
    """Runs DPDK's testpmd, which sends back what comes to its device of DPDK's own driver,
    or (mode="flowgen") sends by itself. Both of its threads may run on any CPU."""
    device = ",".join([f"net_memif0,role={role}", f"socket={path}", "socket-abstract=no", *options])
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    return running(tool("dpdk-testpmd"), "--no-huge", "-m", 256, "--no-pci", "--no-shconf",
                   "--no-telemetry", f"--lcores=0@({cpus}),1@({cpus})", f"--vdev={device}", "--",
                   "--port-topology=loop", f"--forward-mode={mode}", "--no-lsc-interrupt",
                   "--total-num-mbufs=8192", "--mbuf-size=16640", "--no-flush-rx", "--stats-period=1")


@contextlib.contextmanager
def sending(tmp_path, port):
    """Sends the packets to a port, and writes what comes back."""
    save(tmp_path / "a.pcap", PACKETS)
    (tmp_path / "b.pcap").unlink(missing_ok=True)
    files = f"pcap:rx={tmp_path / 'a.pcap'},tx={tmp_path / 'b.pcap'}"
    with running(PERIGEE, "run", BRIDGE, files, port, 0) as sender:
        yield sender


def come_back(tmp_path, sender, echo):
    """The packets as they come back from an echo."""
    ends, size = time.monotonic() + TIMEOUT_S, (tmp_path / "a.pcap").stat().st_size
    file = tmp_path / "b.pcap"
    while not file.exists() or file.stat().st_size < size:
        assert sender.read(0.01) and echo.read() and time.monotonic() < ends, \
            f"{file.stat()} {sender.said} {echo.said}"
    assert sender.interrupt() == 0, sender.said
    return list(load(file))


def go_round(tmp_path, echo, port):
    with sending(tmp_path, port) as sender:
        return come_back(tmp_path, sender, echo)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "socket"


def served(path, program):
    wait_until(lambda: program.read() and path.exists(), "the socket")


# (DPDK 22.11's driver spoils packets in several buffers once a ring is full, also between
# two of its own: its rings are large enough here.)
@pytest.mark.parametrize("options", [[], ["rsize=12"]])
def test_with_a_client_of_dpdk(tmp_path, path, options):
    with sending(tmp_path, end("server", path)) as sender:
        served(path, sender)
        with echo_of_dpdk("client", path, *options) as echo:
            assert come_back(tmp_path, sender, echo) == PACKETS, echo.said


# (Since DPDK 23.11 its driver takes no peer's word for the size of buffers but its own
# `bsize`: a packet in one larger buffer is written over the end of its mbuf.)
@pytest.mark.parametrize("options, theirs", [
    ([], []), (["ring=4000"], []), (["buffer=16384"], ["bsize=16384"])])
def test_with_a_server_of_dpdk(tmp_path, path, options, theirs):
    with echo_of_dpdk("server", path, *theirs) as echo:
        served(path, echo)
        assert go_round(tmp_path, echo, end("client", path, *options)) == PACKETS, echo.said


def received(program):
    return json.loads(perigee("shm", "--json", program.pid).stdout)["apps/port1/rxpackets"]


def send_and_die(path, server):
    """A client of DPDK's that is killed while packets go both ways."""
    before = received(server)
    with echo_of_dpdk("client", path, mode="flowgen") as client:
        wait_until(lambda: server.read() and client.read() and received(server) > before,
                   lambda: f"packets: {client.said} {server.said}")
        assert client.interrupt(signal.SIGKILL) == -signal.SIGKILL


def test_a_client_of_dpdk_that_is_killed_over_and_over(path):
    """Each is taken anew, and its memory given back."""
    with running(PERIGEE, "run", ECHOES, end("server", path)) as server:
        server.wait_for("echoing")
        for _ in range(3):
            send_and_die(path, server)
            wait_until(lambda: server.read() and not mappings(server, "memif_region"),
                       lambda: f"its end: {server.said}")
        assert server.interrupt() == 0, server.said
        assert account(server.said)["sent"] > 0, server.said


def test_a_secret_with_dpdk(tmp_path, path):
    (tmp_path / "secret").write_text("as-DPDK-has-it\n")
    port = end("server", path, f"secret_file={tmp_path / 'secret'}")
    with sending(tmp_path, port) as sender:
        served(path, sender)
        with echo_of_dpdk("client", path, "secret=as-DPDK-has-it") as echo:
            assert come_back(tmp_path, sender, echo) == PACKETS, echo.said


@pytest.mark.parametrize("server, client", [
    ([], ["ring=30"]), (["queues=4"], ["queues=3"]), (["queues=3"], ["queues=4", "ring=16"]),
    (["queues=16"], ["buffer=512"])])
def test_queues_rings_and_buffers(tmp_path, path, server, client):
    """By several queues packets come in any order, but each flow's in its own."""
    with running(PERIGEE, "run", ECHOES, end("server", path, *server)) as echo:
        served(path, echo)
        back = go_round(tmp_path, echo, end("client", path, *client))
        assert echo.interrupt() == 0, echo.said
    assert sorted(back) == sorted(PACKETS)
    for byte in 1, 2, 200:
        flow = [packet for packet in PACKETS if packet[0] == byte]
        assert [packet for packet in back if packet[0] == byte] == flow
    if "queues" not in str(server):
        assert back == PACKETS


def test_interfaces_of_one_socket(tmp_path, path):
    """Each has its own peer, and the socket goes with the last."""
    ports = [end("server", path, f"id={number}") for number in (5, 4294967295)]
    with running(PERIGEE, "run", ECHOES, *ports) as echo:
        echo.wait_for("echoing")
        for number in 4294967295, 5:
            assert go_round(tmp_path, echo,
                            end("client", path, f"id={number}")) == PACKETS
        assert echo.interrupt() == 0, echo.said
    assert not path.exists()


def test_a_server_that_is_killed_over_and_over(tmp_path, path):
    """The client finds the next one by itself."""
    def start():
        return running(PERIGEE, "run", BRIDGE, end("server", path), "ring:x", 0)
    save(tmp_path / "a.pcap", PACKETS)
    with start() as first:
        served(path, first)
        with running(PERIGEE, "run", ECHOES, end("client", path)) as client:
            client.wait_for("echoing")
            for _ in range(3):
                first.interrupt(signal.SIGKILL)
                back = go_round(tmp_path, client, end("server", path))
                assert back[-len(PACKETS):] == PACKETS
            assert client.interrupt() == 0, client.said


def test_a_client_that_is_killed_over_and_over(tmp_path, path):
    with running(PERIGEE, "run", ECHOES, end("server", path)) as echo:
        served(path, echo)
        for _ in range(3):
            with running(PERIGEE, "packetblaster", "synth", end("client", path)) as flood:
                flood.wait_for_engine()
                assert flood.runs_for(0.3), flood.said
                flood.interrupt(signal.SIGKILL)
            back = go_round(tmp_path, echo, end("client", path))
            assert [packet for packet in back if packet in PACKETS][-400:] == PACKETS
        assert echo.interrupt() == 0, echo.said
        a = account(echo.said)
        assert a["received"] == a["sent"] + a["in links"] + a["dropped by ports"] + a["freed"]


def test_two_servers_on_one_path(path):
    with running(PERIGEE, "echo", end("server", path), 0) as first:
        served(path, first)
        second = perigee("echo", end("server", path))
        assert second.returncode == 2 and "another process serves" in second.stderr
        assert first.interrupt() == 0, first.said


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, None])
def test_something_else_at_the_path(path, kind):
    """A file, or another program's socket."""
    with socket.socket(socket.AF_UNIX) as other:
        if kind is None:
            path.write_text("no socket")
        else:
            other.bind(str(path))
            other.listen()
        result = perigee("echo", end("client", path))
        assert result.returncode == 1 and f"nobody answers at '{path}'" in result.stderr
        assert "Traceback" not in result.stderr
        result = perigee("echo", end("server", path))
        assert result.returncode == 2, result.stderr
    assert path.exists()


def descriptors(program):
    """How many it has of each kind."""
    folder, kinds = f"/proc/{program.pid}/fd", collections.Counter()
    for number in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            kinds[re.sub(r"\d+", "N", os.readlink(f"{folder}/{number}"))] += 1
    return kinds


def at_rest(program, polls=50):
    """The same, once it sleeps: it has two epoll sets then, DPDK's and the engine's, and
    nothing comes and goes."""
    seen = []

    def settled():
        seen.append(descriptors(program))
        last = seen[-polls:]
        return len(last) == polls and all(
            kinds == last[0] and kinds["anon_inode:[eventpoll]"] > 1 for kinds in last)
    wait_until(settled, lambda: f"it to be at rest: {seen[-1]}")
    return seen[-1]


def mappings(program, name="peer"):
    return pathlib.Path(f"/proc/{program.pid}/maps").read_text().count(f"memfd:{name}")


def come_and_go(path):
    """A good peer, once the last one isn't there any more."""
    def done():
        try:
            with connected(path) as peer:
                peer.start()
        except Gone as gone:
            assert gone.reason.startswith("taken"), gone.reason
            return False
        return True
    wait_until(done, "to be taken")


def test_peers_that_come_and_go_leave_nothing(path):
    """No descriptor, no memory."""
    with running(PERIGEE, "run", ECHOES, end("server", path)) as echo:
        echo.wait_for("echoing")
        for _ in range(3):  # what is made once
            come_and_go(path)
        before = at_rest(echo)
        for _ in range(100):
            come_and_go(path)
        wait_until(lambda: echo.read() and descriptors(echo) <= before
                   and mappings(echo) == 0, lambda: f"{descriptors(echo)} to be {before} again")
        assert echo.interrupt() == 0, echo.said
