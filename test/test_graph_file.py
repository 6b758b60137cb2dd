# SPDX-License-Identifier: Apache-2.0
"""Graphs as files (doc/graph.md): run, checked, and changed while they run."""

import json
import os
import re
import signal

import jsonschema
import pytest
import yaml
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

from helpers.capture import load, save
from helpers.command import PERIGEE, ROOT, perigee, running, wait_until

EXAMPLE = ROOT / "examples/graph.yaml"
PAGE = (ROOT / "doc/graph.md").read_text()
BLOCKS = re.findall(r"^```(yaml|json)\n(.*?)^```\n", PAGE, re.MULTILINE | re.DOTALL)
SCHEMA = json.loads((ROOT / "doc/graph.schema.json").read_text())


def valid(text):
    """Does the schema allow the graph?"""
    checker = jsonschema.Draft202012Validator(SCHEMA)
    # Keys that are numbers are no JSON.
    return checker.is_valid(json.loads(json.dumps(yaml.safe_load(text))))


def frame(layer, i=0):
    return bytes(Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01")
                 / IP(src="10.0.0.1", dst="10.0.0.2", ttl=64) / layer
                 / i.to_bytes(4, "big") / bytes(20))


def test_the_example_is_what_the_page_shows_and_does_what_it_says(tmp_path):
    assert ("yaml", EXAMPLE.read_text()) in BLOCKS
    frames = [frame(UDP(sport=9, dport=7)), frame(TCP(dport=7)), frame(UDP(dport=53)),
              frame(UDP(sport=9, dport=8))]
    save(tmp_path / "in.pcap", frames)
    env = {**os.environ, "LEFT": f"pcap:rx={tmp_path}/in.pcap",
           "RIGHT": f"pcap:tx={tmp_path}/out.pcap"}
    result = perigee("run", EXAMPLE, env=env)
    assert result.returncode == 0, result.stderr
    out = [Ether(data) for data in load(tmp_path / "out.pcap")]
    assert [(p[UDP].dport, p[IP].ttl) for p in out] == [(7, 63), (8, 63)]


@pytest.mark.fast
@pytest.mark.parametrize("kind, text", BLOCKS)
def test_the_page_s_graphs_are_right_and_the_schema_allows_them(kind, text, tmp_path):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert valid(text)
    graph = tmp_path / f"graph.{kind}"
    graph.write_text(text)
    result = perigee("run", graph, "--check",
                     env={**os.environ, "LEFT": "null", "RIGHT": "null"})
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("nothing wrong found\n")


FWD = "apps.fwd.fwd"
WRONG = [
    {"apps": {"a": FWD}, "link": []}, {"name": "x"}, {"apps": {"a b": FWD}},
    {"apps": {"a": {"clas": FWD}}}, {"apps": {"a": {"class": FWD, "cpu": -1}}},
    {"apps": {"a": {"class": FWD, "on_error": {"policy": "stop", "tims": 1}}}},
    {"ports": {"p": {"port": "null", "burst": 0}}}, {"ports": ["null"]},
    {"ports": {"p": "null"}, "links": ["p"]}, {"ports": {"p": "null"}, "cpus": "all"},
    {"ports": {"p": "null"}, "replicate": [{"apps": ["p"]}]}, "graph",
]


@pytest.mark.parametrize("graph", WRONG)
def test_what_the_schema_refuses_is_refused(graph, tmp_path):
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(graph))
    assert not valid(path.read_text())
    result = perigee("run", path, "--check")
    assert result.returncode == 2 and result.stdout == ""
    assert re.fullmatch(f"perigee: {path}:1: .*\n", result.stderr), result.stderr


@pytest.mark.fast
def test_files_that_are_none(tmp_path):
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "fifo.yaml")
    (tmp_path / "big.json").write_bytes(b'{"description": "' + bytes(10 * 2**20))
    for name, sentence in {
            "folder.yaml": "it isn't a file", "fifo.yaml": "it isn't a file",
            "none.yml": "No such file", "big.json": "has 10.0 MB; up to 4 MB"}.items():
        result = perigee("run", tmp_path / name)
        assert result.returncode == 2 and sentence in result.stderr


GRAPH = """
name: %(name)s
apps:
  in:
    class: apps.pcap.replayer.Replayer
    arg: {filename: %(folder)s/in.pcap, packet_rate: 5000, loops: 100000}
  one: apps.fwd.fwd
  out: {class: apps.pcap.pcap.PcapWriter, arg: %(folder)s/out.pcap}
links: [in -> one -> out]
"""
LONGER = """
name: %(name)s
apps:
  in:
    class: apps.pcap.replayer.Replayer
    arg: {filename: %(folder)s/in.pcap, packet_rate: 5000, loops: 100000}
  two: {class: apps.basic.basic_apps.Truncate, arg: %(length)s}
  one: apps.fwd.fwd
  out: {class: apps.pcap.pcap.PcapWriter, arg: %(folder)s/out.pcap}
links: [in -> two -> one -> out]
"""
PACKETS = 1000


def replace(path, text):
    """As an editor does."""
    temporary = path.with_suffix(".new")
    temporary.write_text(text)
    temporary.rename(path)


@pytest.mark.parametrize("watch", [True, False])
def test_read_again_it_loses_nothing_and_a_wrong_file_changes_nothing(tmp_path, watch):
    frames = [frame(UDP(sport=9, dport=7), i) for i in range(PACKETS)]
    save(tmp_path / "in.pcap", frames)
    names = {"name": f"graph-{os.getpid()}", "folder": tmp_path, "length": 62}
    path, out = tmp_path / "graph.yaml", tmp_path / "out.pcap"
    path.write_text(GRAPH % names)

    with running(PERIGEE, "run", *["--watch"] * watch, path) as process:
        def change(text, said):
            replace(path, text)
            if not watch:
                process.send(signal.SIGHUP)
            process.wait_for(said)
            goes_on()

        def goes_on():
            size = out.stat().st_size
            wait_until(lambda: process.read() and out.stat().st_size > size + 10000,
                       "more packets")

        process.wait_for_engine()
        goes_on()
        change(LONGER % names, "read again: 1 app new, 2 links new, 1 link gone\n")
        change(LONGER % names + "link: []\n",
               "has no key 'link'; is 'links' meant?")
        process.wait_for("; the graph stays as it was\n")
        change("[", "this is no YAML")
        process.wait_for("; the graph stays as it was\n", count=2)
        change(GRAPH % {**names, "name": "other"}, "`name` can't change")
        change(GRAPH % names, "read again: 1 app gone, 1 link new, 2 links gone\n")
        assert process.interrupt() == 0, process.said
    came = list(load(out))
    assert {len(data) for data in came} == {62, len(frames[0])}
    for i, data in enumerate(came):
        assert data[:62] == frames[i % PACKETS][:62], i


def test_watched_files_of_secrets_and_a_file_that_goes(tmp_path):
    secret, path = tmp_path / "port", tmp_path / "graph.yaml"
    secret.write_text("null:size=60\n")
    path.write_text(f"ports: {{in: {{$file: port}}, out: null}}\nlinks: [in -> out]\n")
    with running(PERIGEE, "run", "--watch", "--no-report", path) as process:
        process.wait_for_engine()
        secret.write_text("null:size=61\n")
        process.wait_for("read again: 1 app changed\n")
        path.write_text("ports: {in: {$file: port}, out: {port: null, on_error: drop}}\n"
                        "links: [in -> out]\n")
        process.wait_for("read again: CPUs or policies for errors have changed\n")
        path.unlink()
        process.wait_for("No such file or directory; the graph stays as it was\n")
        assert process.interrupt() == 0


@pytest.mark.fast
def test_sighup_before_the_graph_runs_ends_nothing(tmp_path):
    (tmp_path / "hang_up.lua").write_text("""
        require("posix.signal").kill(require("posix.unistd").getpid(), 1)
        return require("apps.fwd.fwd")
    """)
    path = tmp_path / "graph.yaml"
    path.write_text("ports: {a: null}\napps: {f: hang_up.Fwd}\nlinks: [a -> f -> a]\n")
    with running(PERIGEE, "run", "--no-report", path) as process:
        process.wait_for("read again: nothing has changed\n")
        assert process.interrupt() == 0


def test_apps_of_the_file_s_own_folder_on_other_cpus(tmp_path):
    (tmp_path / "own_counter.lua").write_text("""
        local Counter = {}
        Counter.__index = Counter
        function Counter:new() return setmetatable({n = 0}, self) end
        function Counter:process(p) self.n = self.n + 1 return p end
        function Counter:report() print("counted", self.n) end
        return {Counter = Counter}
    """)
    save(tmp_path / "in.pcap", [frame(UDP(), i) for i in range(100)])
    graph = {
        "ports": {"in": f"pcap:rx={tmp_path}/in.pcap", "out": "null"},
        "apps": {"count": {"class": "own_counter.Counter", "cpu": 1}},
        "links": ["in -> count -> out"],
    }
    (tmp_path / "graph.json").write_text(json.dumps(graph))
    result = perigee("run", "graph.json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "counted\t100\n" in result.stdout


@pytest.mark.fast
def test_check_in_front_of_run_looks_at_packets(tmp_path):
    (tmp_path / "twice.lua").write_text("""
        local Twice = {}
        Twice.__index = Twice
        function Twice:new() return setmetatable({}, self) end
        function Twice:push()
          local p = link.receive(self.input.input)
          packet.free(p)
          packet.free(p)
        end
        return {Twice = Twice}
    """)
    (tmp_path / "graph.yaml").write_text(
        "ports: {in: null}\napps: {t: twice.Twice}\nlinks: [in -> t]\n")
    checked = perigee("run", tmp_path / "graph.yaml", "--check")
    assert checked.returncode == 0 and "1 link, nothing wrong found" in checked.stdout
    result = perigee("--check", "run", tmp_path / "graph.yaml", "--duration", "5")
    assert result.returncode == 1 and "freed" in result.stderr
