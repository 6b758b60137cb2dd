# SPDX-License-Identifier: Apache-2.0
"""doc/control.schema.json and the control sockets know the same requests, take the same
and refuse the same."""

import contextlib
import json
import re

import jsonschema
import pytest

from helpers.capture import save
from helpers.command import PERIGEE, ROOT, running
from helpers.control import Client, wait_for_socket

SCHEMA = json.loads((ROOT / "doc" / "control.schema.json").read_text())
REQUEST = jsonschema.Draft202012Validator(SCHEMA)
ANSWER = jsonschema.Draft202012Validator(
    {"$ref": "#/$defs/answer", "$defs": SCHEMA["$defs"]})
REQUESTS = {name: d["properties"] for name, d in SCHEMA["$defs"].items()
            if "do" in d.get("properties", {})}

GRAPH = """{"apps": {"source": {"class": "apps.basic.basic_apps.Source"},
  "sink": {"class": "apps.basic.basic_apps.Sink"}},
  "links": ["source.output -> sink.input"]}"""


CLICK = "TimedSource(0.01) -> c :: Counter -> s :: Switch(0) -> Discard; s[1] -> Discard;"


@pytest.fixture(scope="module")
def sockets(tmp_path_factory):
    """Of programs that together take all requests: {program: the path of its socket}."""
    folder = tmp_path_factory.mktemp("control")
    (folder / "graph.json").write_text(GRAPH)
    capture = save(folder / "in.pcap", [bytes(60)] * 10)
    programs = {
        "generate": ["--port", "null", "--rate", "1kpps", "--stream", "name=a"],
        "replay": [capture, "null", "--loop", "0", "--rate", "1kpps"],
        "record": ["null", "--folder", folder],
        "connect": ["both", "--clients", "10.0.0.1", "--servers", "10.0.1.1", "--rate", "1"],
        "run": [folder / "graph.json"],
        "click": ["-R", "-e", CLICK],
        "loadtest": ["find-limit", "-D", "600", "-b", "1M", "--sizes", "60", "null"],
    }
    with contextlib.ExitStack() as stack:
        processes = {name: stack.enter_context(running(PERIGEE, name, *words))
                     for name, words in programs.items()}
        yield {name: wait_for_socket(process) for name, process in processes.items()}


def ask(path, request):
    """The answer to a request. A capture's is followed by bytes."""
    client = Client(path)
    try:
        return client.ask(**request)
    finally:
        client.close()


def names_in(error):
    """Those that "...; there are a, b" lists."""
    listed = re.search(r"; there (?:is|are) (.*)$", error)[1]
    return set() if listed == "none" else set(listed.split(", "))


def test_requests_and_keys_are_those_of_the_schema(sockets):
    found = {}
    for path in sockets.values():
        for name in names_in(ask(path, {"do": "no such"})["error"]):
            error = ask(path, {"do": name, "no such": 1})["error"]
            found[name] = found.get(name, set()) | names_in(error)
    assert found == {name: set(keys) - {"do", "id"} for name, keys in REQUESTS.items()}


@pytest.mark.parametrize("program, request_", [
    ("run", {"do": "info"}),
    ("run", {"do": "graph", "id": "a"}),
    ("run", {"do": "counters"}),
    ("run", {"do": "stop", "id": 1.5}),
    ("run", {"do": "configuration"}),
    ("run", {"do": "trace", "count": 1, "rate": 1000, "filter": "ip", "app": "source"}),
    ("run", {"do": "capture", "app": "sink", "limit": 1, "snaplen": 262144, "rate": 5}),
    ("run", {"do": "capture", "link": "source.output -> sink.input", "filter": "tcp"}),
    ("run", {"do": "capture", "dropped": True}),
    ("generate", {"do": "statistics"}),
    ("generate", {"do": "hold", "stream": "a"}),
    ("generate", {"do": "go"}),
    ("generate", {"do": "rate", "rate": "2kpps", "stream": "a"}),
    ("generate", {"do": "streams"}),
    ("generate", {"do": "add", "stream": "eth,ip6,udp;udpDst=53;rate=1pps"}),
    ("generate", {"do": "add", "held": True, "stream": {
        "name": "b", "stack": "eth,ip4,udp", "set": ["udpDst=53"], "size": 100,
        "payload": "hex:01", "rate": "1pps", "arrivals": "poisson", "count": 5, "flows": 1,
        "seed": 7, "latency": "on"}}),
    ("generate", {"do": "change", "stream": "a", "to": {"size": "imix", "rate": "2pps"}}),
    ("generate", {"do": "change", "stream": "a", "to": {"size": None, "set": None}}),
    ("generate", {"do": "remove", "stream": "b"}),
    ("replay", {"do": "rate", "speed": "2"}),
    ("record", {"do": "record", "before": "1s", "after": "0s"}),
    ("connect", {"do": "rate", "rate": "2"}),
    ("connect", {"do": "concurrent", "concurrent": "2k"}),
    ("loadtest", {"do": "hold"}),
    ("click", {"do": "handlers"}),
    ("click", {"do": "handlers", "element": "c", "id": 3}),
    ("click", {"do": "read", "handler": "c.count"}),
    ("click", {"do": "read", "handler": "config", "argument": ""}),
    ("click", {"do": "write", "handler": "s.switch", "value": "1"}),
    ("click", {"do": "write", "handler": "c.reset"}),
    ("click", {"do": "reconfigure", "text": CLICK.replace("0.01", "0.02")}),
    ("run", {"do": "reconfigure", "text": GRAPH}),
    ("run", {"do": "reconfigure"}),
])
def test_what_the_schema_accepts_is_answered(sockets, program, request_):
    REQUEST.validate(request_)
    answer = ask(sockets[program], request_)
    ANSWER.validate(answer)
    assert "answer" in answer and answer.get("id") == request_.get("id"), answer


@pytest.mark.parametrize("program, request_", [
    ("run", {}),
    ("run", {"do": 1}),
    ("run", {"do": "inf"}),
    ("run", {"do": "counters", "app": "source"}),
    ("run", {"do": "trace", "count": 0}),
    ("run", {"do": "trace", "count": 1.5}),
    ("run", {"do": "trace", "count": "1"}),
    ("run", {"do": "trace", "rate": 1001}),
    ("run", {"do": "trace", "filter": 1}),
    ("run", {"do": "trace", "app": True}),
    ("run", {"do": "capture"}),
    ("run", {"do": "capture", "dropped": False}),
    ("run", {"do": "capture", "app": "sink", "dropped": True}),
    ("run", {"do": "capture", "app": "sink", "link": "source.output -> sink.input"}),
    ("run", {"do": "capture", "app": "sink", "snaplen": 262145}),
    ("run", {"do": "capture", "app": "sink", "limit": 2**54}),
    ("generate", {"do": "rate"}),
    ("generate", {"do": "rate", "rate": 5}),
    ("generate", {"do": "hold", "stream": 1}),
    ("generate", {"do": "add"}),
    ("generate", {"do": "add", "stream": 1}),
    ("generate", {"do": "add", "stream": ["eth"]}),
    ("generate", {"do": "add", "stream": {"rte": "1pps"}}),
    ("generate", {"do": "add", "stream": {"rate": 1}}),
    ("generate", {"do": "add", "stream": {"name": "a b"}}),
    ("generate", {"do": "add", "stream": {"name": 7}}),
    ("generate", {"do": "add", "stream": {"set": "udpDst=53"}}),
    ("generate", {"do": "add", "stream": {"set": [53]}}),
    ("generate", {"do": "add", "stream": {"size": [60]}}),
    ("generate", {"do": "add", "stream": {"size": True}}),
    ("generate", {"do": "add", "stream": {"latency": "no"}}),
    ("generate", {"do": "add", "stream": {"arrivals": "even"}}),
    ("generate", {"do": "add", "stream": {"payload": "file:/etc/hostname"}}),
    ("generate", {"do": "add", "stream": {}, "held": 1}),
    ("generate", {"do": "change", "to": {"size": 60}}),
    ("generate", {"do": "change", "stream": "a"}),
    ("generate", {"do": "change", "stream": "a", "to": "size=60"}),
    ("generate", {"do": "change", "stream": "a", "to": {"name": "c"}}),
    ("generate", {"do": "remove"}),
    ("generate", {"do": "remove", "stream": 1}),
    ("replay", {"do": "rate", "rate": "1kpps", "speed": "2"}),
    ("connect", {"do": "concurrent"}),
    ("connect", {"do": "concurrent", "concurrent": 5}),
    ("record", {"do": "record", "before": 1}),
    ("click", {"do": "handlers", "element": 1}),
    ("click", {"do": "read"}),
    ("click", {"do": "read", "handler": 1}),
    ("click", {"do": "read", "handler": "c.count", "argument": 1}),
    ("click", {"do": "write", "value": "1"}),
    ("click", {"do": "write", "handler": "s.switch", "value": 1}),
    ("click", {"do": "reconfigure", "text": 1}),
    ("run", {"do": "reconfigure", "text": {}}),
])
def test_what_the_schema_refuses_is_refused(sockets, program, request_):
    assert not REQUEST.is_valid(request_)
    answer = ask(sockets[program], request_)
    ANSWER.validate(answer)
    assert "error" in answer


REPORTS = json.loads((ROOT / "doc" / "reports.schema.json").read_text())
COUNTERS = jsonschema.Draft202012Validator(
    {"$ref": "#/$defs/instance-counters", "$defs": REPORTS["$defs"]})


@pytest.mark.parametrize("program", ["generate", "replay", "record", "connect", "run",
                                     "click", "loadtest"])
def test_every_program_tells_its_counters_in_one_shape(sockets, program):
    counters = ask(sockets[program], {"do": "counters"})["answer"]
    COUNTERS.validate(counters)
    later = ask(sockets[program], {"do": "counters"})["answer"]
    assert later["time"] > counters["time"]
    assert later["engine"]["packets"] >= counters["engine"]["packets"]
