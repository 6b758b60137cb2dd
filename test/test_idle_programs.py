# SPDX-License-Identifier: Apache-2.0
"""Programs that do things at times sleep until something is due or a packet comes, and
are awake then: connect, replay, loadtest, record, top. (generate: test_idle.py.)"""

import contextlib
import os
import pty
import subprocess
import time

import pytest

from helpers.capture import save
from helpers.command import PERIGEE, running, wait_until
from helpers.idle import MOST_WAKEUPS, cpu_seconds, is_settled, one_cpu, wakeups
from helpers.network import Wire, veth

MOST_SHARE = 1 / 20     # of what busy polling takes, on one CPU with it
SLACK = 10              # wake-ups at the window's ends
SERVERS = ["--servers", "10.0.1.1"]
CLIENT = ["--clients", "10.0.2.1..10.0.2.9", *SERVERS]


def sleeps(program, busy):
    """While the other takes a second of CPU time."""
    wait_until(lambda: is_settled(program.pid), lambda: f"sleep: {program.said}")
    before = wakeups(program.pid), cpu_seconds(program.pid), cpu_seconds(busy.pid)
    began = time.monotonic()
    wait_until(lambda: cpu_seconds(busy.pid) - before[2] > 1, "busy polling")
    slept, seconds = wakeups(program.pid) - before[0], time.monotonic() - began
    share = (cpu_seconds(program.pid) - before[1]) / (cpu_seconds(busy.pid) - before[2])
    assert slept <= MOST_WAKEUPS * seconds + SLACK, f"{slept} in {seconds} s"
    assert share <= MOST_SHARE, program.said


@contextlib.contextmanager
def beside(*command):
    """A process, and one that polls on the same CPU."""
    with contextlib.ExitStack() as stack:
        with one_cpu():
            program = stack.enter_context(running(*command))
            busy = stack.enter_context(running(PERIGEE, "--sleep", "never", "echo", "null"))
        busy.wait_for_engine()
        yield program, busy


@pytest.fixture
def wired(namespace):
    """Two namespaces with an end of a pair each, `port` and `wire`."""
    near, far = namespace("near"), namespace("far")
    veth(near, "port", far, "wire", offloads=False)
    return near, far


def test_a_server_sleeps_and_serves(wired):
    """Without connections, and with some that say nothing."""
    near, far = wired
    with beside(*near.command(PERIGEE, "connect", "server", "packet:port", *SERVERS)) as (
            server, busy), contextlib.ExitStack() as stack:
        server.wait_for_engine()
        sleeps(server, busy)
        client = stack.enter_context(running(*far.command(
            PERIGEE, "connect", "client", "packet:wire", *CLIENT, "--count", 50, "--rate",
            "1k", "--life", "1h", "--timeout", "60s")))
        client.wait_for("50 open")
        server.wait_for("50 open")
        sleeps(server, busy)
        sleeps(client, busy)
        assert client.interrupt() == 0, client.said
        assert server.interrupt() == 0, server.said
    assert "50 established" in server.said
    assert "started: 50 connections" in client.said


def test_a_client_opens_when_it_is_due(wired):
    """Three a second: it sleeps between them, and opens all."""
    near, far = wired
    with running(*near.command(PERIGEE, "connect", "server", "packet:port", *SERVERS)
                 ) as server:
        server.wait_for_engine()
        with running(*far.command(PERIGEE, "connect", "client", "packet:wire", *CLIENT,
                                  "--rate", 3, "--count", 9, "--timeout", "60s")) as client:
            client.wait_for_engine()
            assert client.finish() == 0, client.said
            assert "ended: 9 closed" in client.said
            assert server.interrupt() == 0, server.said


@pytest.mark.parametrize("options", [[], ["--rate", "2pps"]])
def test_replay_sleeps_between_packets(wired, tmp_path, options):
    near, far = wired
    frames = [b"\2\0\0\0\0\1\2\0\0\0\0\2\x88\xb6" + i.to_bytes(46, "big") for i in range(6)]
    save(tmp_path / "in.pcap", frames, gap_us=500_000)
    with Wire(far, "wire") as wire, beside(*near.command(
            PERIGEE, "replay", "--loop", 0, *options, tmp_path / "in.pcap",
            "packet:port")) as (program, busy):
        program.wait_for_engine()
        sleeps(program, busy)
        for frame in frames * 2:
            while (data := wire.receive(timeout=20))[12:14] != b"\x88\xb6":
                pass  # the kernel's
            assert data == frame
        assert program.interrupt() == 0, program.said


def test_loadtest_sleeps_in_its_pauses(wired):
    near, far = wired
    with running(*far.command(PERIGEE, "echo", "packet:wire")) as echo:
        echo.wait_for_engine()
        with beside(*near.command(
                PERIGEE, "loadtest", "rfc2544", "--tests", "throughput", "--sizes", "60", "-b",
                "1M", "--quick", "-D", "50ms", "--warm-up", "50ms", "--pause", "1h",
                "packet:port")) as (program, busy):
            program.wait_for("Applying")
            sleeps(program, busy)
            program.interrupt()
    assert "stopped by SIGINT" in program.said


def test_record_sleeps_between_packets(wired, tmp_path):
    near, far = wired
    with Wire(far, "wire") as wire, beside(*near.command(
            PERIGEE, "record", "--when", "ether proto 0x88b6", "--folder", tmp_path,
            "packet:port")) as (program, busy):
        program.wait_for_engine()
        sleeps(program, busy)
        wire.send(b"\2\0\0\0\0\1\2\0\0\0\0\2\x88\xb6" + bytes(46))
        wait_until(lambda: list(tmp_path.glob("*.pcapng")), "a file")
        assert program.interrupt() == 0, program.said


def test_top_wakes_up_once_an_interval():
    near, far = pty.openpty()
    with running(PERIGEE, "echo", "ring:a") as program:
        program.wait_for_engine()
        top = subprocess.Popen([PERIGEE, "top", str(program.pid)], stdin=far, stdout=far,
                               stderr=far, start_new_session=True)
        try:
            shown = b""
            while b"cycles/packet" not in shown:
                shown += os.read(near, 65536)
            before, began = wakeups(top.pid), time.monotonic()
            while time.monotonic() < began + 3:
                os.read(near, 65536)
            assert wakeups(top.pid) - before <= MOST_WAKEUPS * (time.monotonic() - began)
        finally:
            top.kill()
            top.wait()
            os.close(near)
            os.close(far)
