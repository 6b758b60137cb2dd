# SPDX-License-Identifier: Apache-2.0
"""The control socket: what it answers, and clients that behave badly (doc/control.md)."""

import contextlib
import json
import os
import socket
import stat
import subprocess

import pytest

from helpers.command import PERIGEE, ROOT, perigee, wait_until
from helpers.control import Client, graph, path_of


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    folder = tmp_path_factory.mktemp("control")
    with graph(folder, f"control-{os.getpid()}") as process:
        process.path = path_of(process.pid)
        yield process


def answers(instance):
    """Does it still answer a new client, and run?"""
    client = Client(instance.path)
    said = client.ask(do="info", id="x")
    client.close()
    return said["id"] == "x" and instance.read()


@pytest.mark.fast
def test_it_tells_what_runs_and_is_this_users_alone(instance):
    client = Client(instance.path)
    answer = client.ask(do="info")["answer"]
    assert answer["program"] == "run" and answer["name"] == instance.name
    assert [app["name"] for app in answer["apps"]] == [
        "fwd", "half", "last", "sink", "source", "tee"]
    assert "half.output -> fwd.input" in answer["links"]
    assert stat.S_IMODE(os.stat(instance.path).st_mode) == 0o600
    assert instance.path in perigee("ps").stdout
    client.close()


REFUSED = [
    (b"what?", "a request is a line with an object in JSON, not: what?"),
    (b"[1", "not: [1"),
    (b"7", "not: 7"),
    (b"\x00\xff{", "not: ??{"),
    (b"{}", 'says what to do: {"do":"info"}'),
    (b'{"do":7}', "says what to do"),
    (b'{"do":"inof"}', "'inof' isn't known; is 'info' meant?"),
    (b'{"do":"info","x":1}', "of info, the key 'x' isn't known"),
    (b'{"do":"info","id":{"a":1}', "not: "),
]


@pytest.mark.parametrize("line, sentence", REFUSED)
def test_wrong_requests_get_a_sentence_and_the_next_is_answered(instance, line, sentence):
    client = Client(instance.path)
    client.socket.sendall(line + b"\n")
    assert sentence in client.line()["error"]
    assert "answer" in client.ask(do="info")
    client.close()


def test_requests_come_in_pieces_and_many_at_once(instance):
    client = Client(instance.path)
    for byte in b'{"do":"info","id":1}\n':
        client.socket.sendall(bytes([byte]))
    assert client.line()["id"] == 1
    client.socket.sendall(b"".join(b'{"do":"stop","id":%d}\n' % i for i in range(500)))
    assert [client.line()["id"] for _ in range(500)] == list(range(500))
    client.close()


def test_the_last_request_is_answered_after_the_client_has_said_all(instance):
    client = Client(instance.path)
    client.send(do="stop", id=2)
    client.socket.shutdown(socket.SHUT_WR)
    assert client.line() == {"id": 2, "answer": {"stopped": 0}}
    assert client.line() is None


def test_a_line_without_end_is_refused(instance):
    client = Client(instance.path)
    with contextlib.suppress(ConnectionError, BrokenPipeError):
        for _ in range(16 * 1024):  # a gigabyte
            client.socket.sendall(b"x" * 65536)
    assert answers(instance)
    with open(f"/proc/{instance.pid}/status") as status:
        peak = next(line for line in status if line.startswith("VmHWM"))
    assert int(peak.split()[1]) < 1e6  # kB


def test_clients_that_read_nothing_are_not_answered_for_ever(instance):
    clients = [Client(instance.path) for _ in range(3)]
    for client in clients:
        client.socket.settimeout(0.3)
        with contextlib.suppress(TimeoutError):
            while True:
                client.socket.sendall(b'{"do":"info"}\n' * 1000)
    assert answers(instance)
    for client in clients:
        client.close()
    assert answers(instance)


def test_clients_that_are_killed_leave_nothing(instance):
    def descriptors():
        return len(os.listdir(f"/proc/{instance.pid}/fd"))
    assert answers(instance)
    before = wait_until(descriptors, "descriptors")
    code = ("import socket, sys, time; s = socket.socket(socket.AF_UNIX);"
            "s.connect(sys.argv[1]); s.sendall(b'{\"do\":\"info\"}'); print(1, flush=True);"
            "time.sleep(60)")
    for _ in range(3):
        killed = subprocess.Popen(["python3", "-c", code, instance.path],
                                  stdout=subprocess.PIPE)
        killed.stdout.readline()
        killed.kill()
        killed.wait()
        killed.stdout.close()
    wait_until(lambda: descriptors() <= before, "the connections to be closed")
    assert answers(instance)


def test_no_control(tmp_path):
    with graph(tmp_path, f"closed-{os.getpid()}", options=["--no-control"]) as process:
        assert path_of(process.pid) is None
        assert process.interrupt() == 0


def test_a_path_too_long_for_an_address(tmp_path):
    root = tmp_path / ("x" * 100)
    env = {**os.environ, "SNABB_SHM_ROOT": str(root)}
    program = subprocess.Popen([PERIGEE, "echo", "null"], env=env, cwd=ROOT,
                               stdout=subprocess.DEVNULL)
    path = root / str(program.pid) / "control.socket"
    try:
        wait_until(path.exists, "the socket")
        listed = json.loads(perigee("ps", "--json", env=env).stdout)
        assert [i["control"] for i in listed] == [str(path)]
    finally:
        program.terminate()
        program.wait()
    assert not path.exists()


def balanced(packets):
    came = packets["received"] + packets["allocated"]
    return came == sum(packets[name] for name in (
        "sent", "freed", "port_drops", "in_links", "in_rings", "held"))


def test_counters_tell_of_links_drops_and_the_sum_over_packets(instance):
    client = Client(instance.path)
    counters = client.ask(do="counters")["answer"]
    client.close()
    assert balanced(counters["packets"])
    carried = {spec.split(".")[0]: link for spec, link in counters["links"].items()}
    dropped = counters["apps"]["half"]["drops"]["not wanted"]
    assert dropped > 0 and dropped in range(carried["source"]["txpackets"] // 2 - 1024,
                                            carried["source"]["txpackets"] // 2 + 1)
    assert counters["engine"]["packets"] >= dropped


PLACED = """
config.app(c, "out", require("apps.port.port").Port, "null")
config.link(c, "tee.more -> out.input")
for _, name in ipairs{"tee", "last", "sink", "out"} do config.cpu(c, name, 1) end
"""


def test_counters_have_the_apps_of_all_cpus(tmp_path):
    with graph(tmp_path, f"counted-{os.getpid()}", PLACED) as process:
        client = Client(path_of(process.pid))

        def sent():
            told = client.ask(do="counters")["answer"]
            return told["apps"]["out"]["counters"]["txpackets"] > 0 and told
        counters = wait_until(sent, "packets sent by the port of CPU 1")
        client.close()
    assert set(counters["apps"]) == {"source", "half", "fwd", "tee", "last", "sink", "out"}
    assert counters["ports"] == {"out": "null"}
    [(cpu, figures)] = counters["cpus"].items()
    assert cpu == "1" and figures["breaths"] > 0 and figures["packets"] > 0
    assert counters["links"]["tee.more -> out.input"]["txpackets"] > 0
