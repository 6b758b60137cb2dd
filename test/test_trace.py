# SPDX-License-Identifier: Apache-2.0
"""`perigee trace`: the paths of single packets through graphs that run."""

import json
import os
import signal
import subprocess

import pytest

from helpers.command import PERIGEE, perigee, run, running, wait_until
from helpers.control import Client, graph, path_of, wait_for_socket


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trace")
    with graph(folder, f"trace-{os.getpid()}") as process:
        yield process


def traces(*args):
    result = perigee("trace", "--json", *args)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.fast
def test_it_tells_each_app_what_it_changed_and_the_end(instance):
    found = {}
    for trace in traces(instance.name, "--count", "20"):
        found[trace["end"]["app"], trace["end"]["what"]] = trace
    assert set(found) == {("half", "dropped"), ("sink", "freed")}
    dropped, freed = found["half", "dropped"], found["sink", "freed"]
    assert dropped["end"]["reason"] == "not wanted"
    assert [hop["link"] for hop in freed["hops"]] == [
        "source.output -> half.input", "half.output -> fwd.input",
        "fwd.output -> tee.input", "tee.output -> last.input",
        "last.output -> sink.input"]
    assert [hop.get("changes") for hop in freed["hops"]] == [
        None, ["eth Dst 00:00:00:00:00:00 -> 07:00:00:00:00:00"], None, None, None]


def test_as_text(instance):
    said = perigee("trace", instance.pid, "-n", "4").stdout
    assert "packet 1: 60 bytes" in said and "  from source\n" in said
    assert "  dropped by half: not wanted\n" in said
    assert ("  half\n    eth Dst 00:00:00:00:00:00 -> 07:00:00:00:00:00\n  fwd\n  tee\n"
            "  last\n  freed by sink\n") in said


def test_from_an_app_on_inside_of_a_region_and_with_a_filter(instance):
    for trace in traces(instance.name, "-n", "3", "--app", "fwd"):
        assert trace["hops"][0]["link"] == "half.output -> fwd.input"
        assert trace["end"] == {"app": "sink", "what": "freed"}
    [trace] = traces(instance.name, "-n", "1", "-a", "last", "-f", "ether[0] == 7")
    assert trace["hops"][0]["link"] == "tee.output -> last.input"
    began = {t["hops"][0]["data"][:2] for t in traces(
        instance.name, "-n", "3", "-f", "ether[0] == 0")}
    assert began == {"00"}


REFUSED = [
    (["--app", "hafl"], "there is no app 'hafl'; is 'half' meant?"),
    (["--filter", "no such"], "'no such' is no packet filter"),
    (["--count", "0"], "'0' isn't a whole number"),
]


@pytest.mark.parametrize("args, sentence", REFUSED)
def test_what_is_wrong_is_told(instance, args, sentence):
    result = perigee("trace", instance.name, *args)
    assert result.returncode == 2 and sentence in result.stderr


def test_a_trace_that_finds_nothing_ends_by_ctrl_c_and_by_kill(instance):
    for number, status in (signal.SIGINT, 0), (signal.SIGKILL, -9):
        command = [PERIGEE, "trace", instance.name, "-f", "host 1.2.3.4"]
        trace = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        mask = 1 << signal.SIGURG - 1
        wait_until(lambda: mask & int(next(
            line for line in open(f"/proc/{trace.pid}/status")
            if line.startswith("SigCgt")).split()[1], 16), "its handler")
        trace.send_signal(number)
        said, errors = trace.communicate(timeout=30)
        assert (trace.returncode, said, errors) == (status, b"", b"")
    assert len(traces(instance.name, "-n", "2")) == 2
    assert instance.read()


def test_several_at_once_and_one_that_reads_nothing(instance):
    deaf = [Client(path_of(instance.pid)) for _ in range(2)]
    for client in deaf:
        client.send(do="trace", count=10**6, rate=1000)
    assert len(traces(instance.name, "-n", "50", "--rate", "1000")) == 50
    for client in deaf:
        assert client.line() == {"answer": {"count": 10**6}}
        client.send(do="stop")
        while "end" not in (line := client.line()):
            if "answer" not in line:
                assert line["packet"]["end"]["app"] in ("half", "sink")
        client.close()


def test_on_other_cpus(tmp_path):
    more = 'for _, name in ipairs{"tee", "last", "sink"} do config.cpu(c, name, 1) end'
    with graph(tmp_path, f"cpus-{os.getpid()}", more) as process:
        ends = {(t.get("cpu"), t["end"]["what"], t["end"]["app"])
                for t in traces(process.name, "-n", "150")}
        assert (None, "handed on", "tee") in ends and (1, "freed", "sink") in ends
        assert (None, "dropped", "half") in ends
        assert process.interrupt() == 0


ROUTER = """
engine.claim_name(%r)
local Port = require("apps.port.port").Port
local c = config.new()
config.app(c, "in", Port, {port = "pcap:rx=%s,loop=1", burst = 1})
config.app(c, "ttl", require("apps.ip.dec_ttl.dec_ttl").DecTtl)
config.app(c, "out", Port, "pcap:tx=/dev/null")
config.link(c, "in.output -> ttl.input")
config.link(c, "ttl.output -> out.input")
engine.configure(c)
engine.Hz = 1000
engine.main{duration = 100, no_report = true}
"""


def test_between_ports(tmp_path):
    from scapy.all import Ether, IP, UDP, wrpcap
    pcap = tmp_path / "in.pcap"
    wrpcap(str(pcap), [Ether() / IP(src="10.0.0.1", dst="10.0.0.9", ttl=ttl)
                       / UDP(dport=7) / bytes(20) for ttl in (64, 1)])
    script, name = tmp_path / "r.lua", f"router-{os.getpid()}"
    script.write_text(ROUTER % (name, pcap))
    with running(PERIGEE, "run", script) as process:
        wait_for_socket(process)
        said = perigee("trace", name, "-n", "2", "-f", "ip[8] == 64").stdout
        assert said.count("  ttl\n    ip4 TTL 64 -> 63\n    ip4 Checksum ") == 2
        assert said.count("\n  sent by out\n") == 2
        assert "IP 10.0.0.1.53 > 10.0.0.9.7: UDP, length 20" in said
        [late] = traces(name, "-n", "1", "-f", "ip[8] == 1")
        assert late["end"]["what"] == "dropped" and late["end"]["app"] == "ttl"


def test_of_what_has_no_socket(tmp_path):
    with graph(tmp_path, f"none-{os.getpid()}", options=["--no-control"]) as process:
        result = perigee("trace", process.pid)
    assert result.returncode == 1 and "started with --no-control" in result.stderr


def test_as_another_user(instance, readable):
    if os.geteuid() != 0:
        pytest.skip("becomes another user, as root")
    result = run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                 readable, "trace", instance.pid, env={**os.environ, "HOME": "/"})
    assert result.returncode == 1
    assert f"process {instance.pid} is another user's" in result.stderr
