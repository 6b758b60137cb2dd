# SPDX-License-Identifier: Apache-2.0
"""What an idle Perigee leaves of the CPU, and that it wakes up for each packet: it
sleeps until a descriptor of its ports is ready (src/core/idle)."""

import contextlib
import itertools
import os
import re
import socket
import time

import pytest

from helpers.capture import load
from helpers.command import PERIGEE, ROOT, perigee, running, wait_until
from helpers.idle import MOST_WAKEUPS, cpu_seconds, is_settled, one_cpu, wakeups
from helpers.network import Wire, veth
from helpers.report import account

BRIDGE = ROOT / "test" / "chained_bridge.lua"
BURST = 1000
QUIET_S = 1.0
MOST_SHARE = 1 / 20     # of what busy polling takes, on one CPU with it
SLACK = 10              # wake-ups at the window's ends
FRAME = b"\2\0\0\0\0\1\2\0\0\0\0\2\x88\xb6"


# The port that echoes, and that of a second process between it and the wire, if it needs
# one. (`{}` is a folder.)
PORTS = {
    "packet": ("packet:port", None),
    "tap": ("tap:port", None),
    "xdp": ("xdp:port", None),
    "memif": ("memif:{}/memif,role=server", "memif:{}/memif"),
    "vhost": ("vhost:{}/vhost", "virtio-user:{}/vhost"),
    "virtio-user": ("virtio-user:{}/vhost,server=1", "vhost:{}/vhost,client=1"),
}


class Port:
    """A port of a kind in a namespace of its own, and a wire to it."""

    def __init__(self, kind, make, folder):
        self.inside, self.outside = make("in"), make("out")
        folder.mkdir()
        self.port, self.between = (p and p.format(folder) for p in PORTS[kind])
        if kind != "tap":
            veth(self.inside, "port", self.outside, "wire", offloads=False)

    @contextlib.contextmanager
    def echo(self, *options):
        """A process that echoes; behind it the one between."""
        with running(*self.inside.command(
                PERIGEE, *options, "echo", self.port, "1")) as program:
            program.wait_for_engine()
            if not self.between:
                yield program
                return
            with running(*self.inside.command(
                    PERIGEE, "run", BRIDGE, "packet:port", self.between, "1")) as bridge:
                bridge.wait_for_engine()
                yield program

    def wire(self):
        if self.port == "tap:port":
            return Wire(self.inside, "port")
        return Wire(self.outside, "wire")


@pytest.fixture(params=PORTS)
def new_port(request, namespace, tmp_path):
    numbers = itertools.count()
    return lambda: Port(request.param, namespace, tmp_path / str(next(numbers)))


@pytest.fixture
def port(new_port):
    return new_port()


def test_idle_leaves_the_cpu_alone(port, new_port):
    busy_port = new_port()
    with contextlib.ExitStack() as stack:
        with one_cpu():
            idle = stack.enter_context(port.echo())
            busy = stack.enter_context(busy_port.echo("--sleep", "never"))
        wire, other = stack.enter_context(port.wire()), stack.enter_context(busy_port.wire())
        wire.wait_for_echo(idle)
        other.wait_for_echo(busy)
        wait_until(lambda: is_settled(idle.pid), lambda: f"sleep: {idle.said}")
        before = wakeups(idle.pid), cpu_seconds(idle.pid), cpu_seconds(busy.pid)
        began = time.monotonic()
        wait_until(lambda: cpu_seconds(busy.pid) - before[2] > 1, "busy polling")
        slept = wakeups(idle.pid) - before[0]
        seconds = time.monotonic() - began
        share = (cpu_seconds(idle.pid) - before[1]) / (cpu_seconds(busy.pid) - before[2])
        assert slept <= MOST_WAKEUPS * seconds + SLACK, f"{seconds} s: {idle.said}"
        assert share <= MOST_SHARE, idle.said


@pytest.mark.parametrize("mode", ["adaptive", "eager"])
def test_nothing_is_lost_after_silence(port, mode):
    """The first packet, and a thousand more."""
    with port.echo("--sleep", mode) as program, port.wire() as wire:
        wire.wait_for_echo(program)
        for count in 1, BURST:
            assert program.runs_for(QUIET_S), program.said
            frames = [FRAME + count.to_bytes(2, "big") + i.to_bytes(44, "big")
                      for i in range(count)]
            if count == 1:
                wire.send(frames[0])
                back = [wire.receive(timeout=20)]
            else:
                back = wire.exchange(frames, timeout=20)
            assert back == frames, f"{len(back)} of {count}: {program.said}"
        assert program.interrupt() == 0, program.said
    a = account(program.said)
    assert a["sent"] == a["received"] >= BURST + 1
    assert a["dropped by ports"] == 0, program.said


def thread_wakeups(pid):
    """The same of all threads."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status") as status:
            total += next(int(line.split()[1]) for line in status
                          if line.startswith("voluntary_ctxt_switches"))
    return total


def test_rings_between_cpus_wake_their_receivers(namespace, tmp_path):
    port = Port("packet", namespace, tmp_path / "folder")
    cpus = sorted(os.sched_getaffinity(0))
    script = ROOT / "test" / "echo_on_two_cpus.lua"
    with running(*port.inside.command(PERIGEE, "run", script, "packet:port", cpus[0],
                                      cpus[-1])) as program, port.wire() as wire:
        wire.wait_for_echo(program)
        threads = len(os.listdir(f"/proc/{program.pid}/task"))
        for i in range(3):
            before, began = thread_wakeups(program.pid), time.monotonic()
            assert program.runs_for(QUIET_S), program.said
            slept, seconds = thread_wakeups(program.pid) - before, time.monotonic() - began
            frame = FRAME + i.to_bytes(46, "big")
            wire.send(frame)
            assert wire.receive(timeout=20) == frame, program.said
        assert slept <= threads * (MOST_WAKEUPS * seconds + SLACK), program.said
        assert program.interrupt() == 0, program.said


def test_a_graph_file_is_as_idle(namespace, tmp_path):
    port = Port("packet", namespace, tmp_path / "folder")
    path = tmp_path / "graph.yaml"
    path.write_text("apps:\n  port: {class: apps.port.port.Port, arg: 'packet:port'}\n"
                    "links:\n  - port.output -> port.input\n")
    with running(*port.inside.command(PERIGEE, "run", path)) as program, \
            port.wire() as wire:
        wire.wait_for_echo(program)
        wait_until(lambda: is_settled(program.pid), lambda: f"sleep: {program.said}")
        assert program.interrupt() == 0, program.said


@pytest.mark.parametrize("options", [[], ["--filter", "ether proto 0x88b6"]])
def test_a_capture_is_as_idle(namespace, tmp_path, options):
    port, file = Port("packet", namespace, tmp_path / "folder"), tmp_path / "a.pcap"
    with running(*port.inside.command(PERIGEE, "capture", *options, "packet:port", file)
                 ) as program, port.wire() as wire:
        program.wait_for_engine()
        wait_until(lambda: program.read() and is_settled(program.pid),
                   lambda: f"sleep: {program.said}")
        wire.send(FRAME + bytes(46))
        wait_until(lambda: program.read() and FRAME + bytes(46) in load(file),
                   lambda: f"the frame: {program.said}")
        assert program.interrupt() == 0, program.said


@pytest.mark.parametrize("options, line", [
    (["--port", "packet:port", "--rate", "3pps"], "achieved:"),
    (["--receive", "packet:port"], "received: 1 packets"),
    (["--port", "packet:port", "--receive", "packet:port", "--rate", "3pps"], "lost:"),
])
def test_generate_is_as_idle(namespace, tmp_path, options, line):
    """It sleeps until a packet is due, or comes."""
    port = Port("packet", namespace, tmp_path / "folder")
    with running(*port.inside.command(PERIGEE, "generate", *options)) as program, \
            port.wire() as wire:
        program.wait_for_engine()
        wait_until(lambda: program.read() and is_settled(program.pid),
                   lambda: f"sleep: {program.said}")
        if "--rate" in options:
            for _ in range(3):
                while (data := wire.receive(timeout=20))[12:14] != b"\x08\0":
                    pass
                wire.send(data)
        else:
            wire.send(FRAME + bytes(46))
            program.wait_for("  1 packets")
        assert program.interrupt() == 0, program.said
    assert line in program.said


def ask(connection, text):
    connection.sendall(text.encode())
    connection.settimeout(60)
    answer = b""
    while not re.search(rb"^200 .*\n(DATA \d+\r\n.*)?\Z", answer, re.M | re.S):
        more = connection.recv(4096)
        assert more, answer
        answer += more
    return answer.decode()


def test_a_click_router_is_as_idle(namespace, tmp_path):
    """It wakes for packets, for those who ask its ControlSocket, and for its timers."""
    port, path = Port("packet", namespace, tmp_path / "folder"), tmp_path / "control"
    text = f"""FromDevice(port) -> frames :: Counter -> Queue -> ToDevice(port);
        ControlSocket(unix, {path});
        Script(TYPE ACTIVE, set n 0, label again, wait 0.5, set n $(add $n 1),
               print "beat $n", goto again)"""
    with running(*port.inside.command(PERIGEE, "click", "-e", text)) as program, \
            port.wire() as wire, socket.socket(socket.AF_UNIX) as connection:
        wire.wait_for_echo(program)
        connection.connect(str(path))
        for i in range(3):
            wait_until(lambda: program.read() and is_settled(program.pid),
                       lambda: f"sleep: {program.said}")
            before = int(ask(connection, "READ frames.count\n").rsplit("\n", 1)[1])
            frame = FRAME + i.to_bytes(46, "big")
            wire.send(frame)
            assert wire.receive(timeout=20) == frame, program.said
            assert int(ask(connection, "READ frames.count\n").rsplit("\n", 1)[1]) \
                == before + 1, program.said
        beats = program.said.count("beat")
        wait_until(lambda: program.read() and program.said.count("beat") > beats + 1,
                   lambda: f"two beats: {program.said}")
        assert program.interrupt() == 0, program.said


def test_an_unknown_way_to_sleep_is_refused():
    result = perigee("--sleep", "often", "echo", "null", 1, 0.1)
    assert result.returncode == 2
    assert result.stderr == "perigee: --sleep often: give one of never, adaptive, eager\n"
