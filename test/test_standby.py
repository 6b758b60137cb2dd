# SPDX-License-Identifier: Apache-2.0
"""A process that stands by (--standby) takes over when the one that runs ends, also when
it is killed: packets flow again, with what was kept, and one of several takes over."""

import contextlib
import os
import signal
import socket

import pytest

from helpers.click_control import connect
from helpers.command import PERIGEE, catches, run, running, wait_until
from helpers.network import Namespace, Wire, veth
from helpers.service import Manager
from test_keep import CHUNKS, Net, environment, kill, pass_on  # noqa: F401 (a fixture)

READY, TAKES = "ready, stands by for process", "ends, takes over"
BRIDGE = "FromDPDKDevice(0) -> ToDPDKDevice(1); FromDPDKDevice(1) -> ToDPDKDevice(0)"
QUIET = "RatedSource(RATE 10) -> Discard"


def stands_by(process, whom):
    process.wait_for(f"{READY} {whom.pid}\n")


def test_tcp_goes_on_through_the_standby_of_a_nat_that_was_killed(environment):  # noqa: F811
    with contextlib.ExitStack() as stack:
        net = Net(stack)

        def start():
            return stack.enter_context(
                net.router("--keep", "nat", "--standby", environment=environment))
        routers = [start()]
        client, server = net.connected(stack, routers[0])
        for turn in range(3):
            routers.append(start())
            stands_by(routers[-1], routers[-2])
            for _ in range(CHUNKS):
                pass_on(client, server, routers[-2])
            kill(routers[-2])
            routers[-1].wait_for(TAKES)
            routers[-1].wait_for("took over in")
            pass_on(server, client, routers[-1])
            pass_on(client, server, routers[-1])
            assert "goes on with 2 of 2 records" in routers[-1].said
        assert routers[-1].interrupt() == 0


@pytest.mark.parametrize("kind", ["packet", "tap"])
def test_it_has_the_ports_of_the_other_one(environment, kind):  # noqa: F811
    with contextlib.ExitStack() as stack:
        namespace, far = Namespace("dut"), Namespace("far")
        stack.callback(namespace.remove)
        stack.callback(far.remove)
        if kind == "packet":
            veth(far, "eth0", namespace, "in0", offloads=False)
            veth(far, "eth1", namespace, "out0", offloads=False)
            wires = stack.enter_context(Wire(far, "eth0")), stack.enter_context(Wire(far, "eth1"))
        command = namespace.command(str(PERIGEE), "--keep", "b", "--standby", "click", "-e", BRIDGE,
                                    "--device", f"0={kind}:in0", "--device", f"1={kind}:out0")
        first = stack.enter_context(running(*command, env=environment))
        first.wait_for_engine()
        second = stack.enter_context(running(*command, env=environment))
        stands_by(second, first)
        if kind == "packet":
            passes(wires)
        kill(first)
        second.wait_for("took over in")
        if kind == "tap":
            namespace.ip("link", "set", "in0", "up")
            namespace.ip("link", "set", "out0", "up")
            wires = (stack.enter_context(Wire(namespace, "in0")),
                     stack.enter_context(Wire(namespace, "out0")))
        passes(wires)
        if kind == "tap":  # several processes may have one
            assert second.interrupt() == 0
            return
        third = run(*namespace.command(str(PERIGEE), "click", "-e", BRIDGE, "--device",
                                       f"0={kind}:in0", "--device", f"1={kind}:out0"),
                    env=environment)
        assert third.returncode != 0, "it has them alone"
        assert second.interrupt() == 0


def passes(wires):
    """A numbered frame gets from the first wire to the second, once."""
    frame = b"\x02" * 12 + b"\x88\xb5" + os.urandom(46)

    def comes():
        wires[0].send(frame)
        return wires[1].receive(0.1) == frame
    wait_until(comes, "a frame")
    while wires[1].receive(0.2):
        pass
    wires[0].send(frame)
    assert wires[1].receive() == frame
    assert wires[1].receive(0.2) is None


def test_it_says_where_its_addresses_are_now(environment):  # noqa: F811
    """Switches and neighbours learn that from the frame, of each address that is one."""
    graph = """FromDPDKDevice(0) -> Classifier(12/0806 20/0001)
        -> ARPResponder(10.0.0.1 2:0:0:0:0:1, 10.1.0.0/16 2:0:0:0:0:2, 10.0.0.3 2:0:0:0:0:3)
        -> ToDPDKDevice(0)"""
    with contextlib.ExitStack() as stack:
        namespace, far = Namespace("dut"), Namespace("far")
        stack.callback(namespace.remove)
        stack.callback(far.remove)
        veth(far, "eth0", namespace, "in0", offloads=False)
        wire = stack.enter_context(Wire(far, "eth0"))
        command = namespace.command(str(PERIGEE), "--keep", "b", "--standby", "click", "-e", graph,
                                    "--device", "0=packet:in0")
        first = stack.enter_context(running(*command, env=environment))
        first.wait_for_engine()
        second = stack.enter_context(running(*command, env=environment))
        stands_by(second, first)
        kill(first)
        second.wait_for("took over in")
        for last in b"\1", b"\3":
            mac, ip = b"\2\0\0\0\0" + last, b"\x0a\0\0" + last
            assert wire.receive() == b"\xff" * 6 + mac + b"\x08\x06\0\1\x08\0\6\4\0\1" \
                + mac + ip + bytes(6) + ip
        assert second.interrupt() == 0
        assert wire.receive(0.2) is None


def test_one_of_several_takes_over(environment):  # noqa: F811
    command = [PERIGEE, "--keep", "x", "--standby", "click", "-e", QUIET]
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(running(*command, env=environment))
        first.wait_for_engine()
        others = [stack.enter_context(running(*command, env=environment)) for _ in range(3)]
        for other in others:
            stands_by(other, first)
        shown = run(PERIGEE, "ps", env=environment).stdout
        assert shown.count("(standby of x)") == 3, shown
        kill(first)
        while others:
            def won():
                for other in others:
                    other.read()
                return [other for other in others if "took over in" in other.said]
            winner, = wait_until(won, lambda: [other.said for other in others])
            others.remove(winner)
            for other in others:
                stands_by(other, winner)
            assert run(PERIGEE, "ps", env=environment).stdout.count("(standby of x)") == \
                len(others)
            winner.send(signal.SIGTERM)  # its end is one like any other
            assert winner.finish() == 0


def test_it_takes_what_the_other_listened_at(environment, tmp_path):  # noqa: F811
    command = [PERIGEE, "--keep", "x", "--standby", "--metrics", f"unix:{tmp_path}/metrics",
               "click", "-u", tmp_path / "control", "-e", QUIET]

    def answers():
        with contextlib.suppress(OSError), \
                socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(5)
            s.connect(f"{tmp_path}/control")
            return s.recv(5) == b"Click"
    with running(*command, env=environment) as first:
        first.wait_for_engine()
        wait_until(answers, "the first one's answer")
        with running(*command, env=environment) as second:
            stands_by(second, first)
            kill(first)
            second.wait_for("took over in")
            wait_until(lambda: second.read() and answers(), lambda: second.said)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
                s.connect(f"{tmp_path}/metrics")
                s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                assert s.recv(12).startswith(b"HTTP/1.")
            assert second.interrupt() == 0, second.said


def test_a_manager_is_told_that_it_stands_by(environment, tmp_path):  # noqa: F811
    manager = Manager(tmp_path / "notify")
    command = [PERIGEE, "--keep", "x", "--standby", "click", "-e", QUIET]
    with running(*command, env=environment) as first:
        first.wait_for_engine()
        with running(*command, env={**environment, "NOTIFY_SOCKET": str(manager.path),
                                    "WATCHDOG_USEC": "100000"}) as second:
            manager.wait_for("READY=1", second)
            assert f"STATUS=stands by for process {first.pid}, which has the name x" in \
                manager.heard
            wait_until(lambda: manager.listen().count("WATCHDOG=1") >= 3 and second.read(),
                       "signs of life")
            kill(first)
            wait_until(lambda: manager.listen().count("READY=1") == 2 and second.read(),
                       "it is ready again")
    manager.socket.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_one_that_waits(environment, number):  # noqa: F811
    command = [PERIGEE, "--keep", "x", "--standby", "click", "-e", QUIET]
    with running(*command, env=environment) as first, \
            running(*command, env=environment) as second:
        begun = wait_until(lambda: first.read() and second.read() and
                           [p for p in (first, second) if READY in p.said], "a standby")
        wait_until(lambda: catches(begun[0].pid), "it looks at signals")
        assert begun[0].interrupt(number) == 0
        assert "came while it stood by" in begun[0].said
        rest = first if begun[0] is second else second
        rest.wait_for_engine()
        assert rest.interrupt() == 0


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")
def test_one_with_workers_waits_before_they_open_ports(environment):  # noqa: F811
    command = [PERIGEE, "--keep", "x", "--standby", "--cpus", "0,1", "click", "-e",
               "FromDevice(a) -> Counter -> ToDevice(b)", "--device", "a=null", "--device",
               "b=null"]
    with running(*command, env=environment) as first:
        wait_until(lambda: first.read() and
                   run(PERIGEE, "keep", "list", env=environment).stdout, "the first one")
        with running(*command, env=environment) as second:
            stands_by(second, first)
            kill(first)
            second.wait_for("took over in")
            assert second.interrupt() == 0


GRAPH = "keep: graph\nports: {a: 'ring:a', b: 'ring:b'}\nlinks: [a -> b]\n"


@contextlib.contextmanager
def graph_runs(file, environment):  # noqa: F811
    with running(PERIGEE, "run", file, env=environment) as process:
        yield process


def test_a_graph_file_can_say_so(environment, tmp_path):  # noqa: F811
    """With its keys, also for `perigee upgrade`, which adds --standby."""
    file = tmp_path / "graph.yaml"
    file.write_text(GRAPH + "standby: true\n")
    with graph_runs(file, environment) as first:
        first.wait_for_engine()
        with graph_runs(file, environment) as second:
            stands_by(second, first)
            kill(first)
            second.wait_for("took over in")
            assert second.interrupt() == 0
    file.write_text(GRAPH)
    with graph_runs(file, environment) as first:
        first.wait_for_engine()
        upgraded = run(PERIGEE, "upgrade", "graph", env=environment)
        assert upgraded.returncode == 0, upgraded.stderr
        os.kill(int(upgraded.stderr.partition("process ")[2].split()[0]), signal.SIGTERM)
        assert first.finish() == 0  # both have ended: they have the same output
        assert "took over in" in first.said
    file.write_text(GRAPH + "standby: true\n")
    other = run(PERIGEE, "--keep", "x", "run", file, "--duration", "0.1", env=environment)
    assert other.returncode == 0 and "have no effect, as --keep is given" in other.stderr
    file.write_text(GRAPH.replace("keep: graph\n", ""))
    nameless = run(PERIGEE, "--standby", "run", file, env=environment)
    assert (nameless.returncode, nameless.stderr) == (
        2, "perigee: --standby: give the name that the other process has, by --keep NAME\n")


def test_what_is_wrong_is_told_before(environment, tmp_path):  # noqa: F811
    missing = run(PERIGEE, "--standby", "click", "-e", QUIET, env=environment)
    assert (missing.returncode, missing.stderr) == (
        2, "perigee: --standby: give the name that the other process has, by --keep NAME\n")
    with running(PERIGEE, "--keep", "x", "click", "-e", QUIET, env=environment) as first:
        first.wait_for_engine()
        wrong = run(PERIGEE, "--keep", "x", "--standby", "click", "-e", "x :: Nothing; Idle -> x",
                    env=environment)
        assert wrong.returncode == 1 and "unknown element class 'Nothing'" in wrong.stderr
        graph = tmp_path / "graph.lua"
        graph.write_text('local c = config.new()\n'
                         'config.app(c, "a", require("apps.port.port").Port, "nothing:x")\n'
                         'engine.configure(c)\n')
        wrong = run(PERIGEE, "--keep", "x", "--standby", "run", graph, env=environment)
        assert wrong.returncode == 2 and "nothing:x" in wrong.stderr
        assert first.read(), first.said
        assert first.interrupt() == 0


def test_its_control_socket_waits_for_the_other_ones_end(environment, tmp_path):  # noqa: F811
    """A process that is killed lets go of its name before the kernel closes its sockets."""
    path = tmp_path / "socket"
    command = [PERIGEE, "--keep", "x", "--standby", "click"]
    with running(*command, "-e", QUIET, env=environment) as first, \
            socket.socket(socket.AF_UNIX) as other:
        first.wait_for_engine()
        with running(*command, "-u", path, "-e", QUIET, env=environment) as second:
            stands_by(second, first)
            other.bind(str(path))
            other.listen()
            kill(first)
            second.wait_for("took over in")
            other.accept()[0].close()  # it has looked
            other.close()
            assert connect(path).readline().startswith("Click::ControlSocket/1.")
            assert "in use" not in second.said
            assert second.interrupt() == 0
    with socket.socket(socket.AF_UNIX) as other:  # one that is started again at once
        other.bind(str(path))
        other.listen()
        with running(*command, "-u", path, "-e", QUIET, env=environment) as third:
            other.accept()[0].close()
            other.close()
            assert connect(path).readline().startswith("Click::ControlSocket/1.")
            assert third.interrupt() == 0


def test_a_control_socket_of_others_ends_what_is_started(environment, tmp_path):  # noqa: F811
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        with running(PERIGEE, "--keep", "x", "click", "-u", path, "-e", QUIET,
                     env=environment) as program:
            assert program.finish() == 1
            assert "Address already in use" in program.said
