# SPDX-License-Identifier: Apache-2.0
"""Streams that are added to a running perigee generate, changed and removed."""

import contextlib
import json

import pytest

from helpers.capture import load
from helpers.command import PERIGEE, running, wait_until
from helpers.control import Client, done, wait_for_socket
from helpers.generate import rebuilt
from helpers.schema import valid


@contextlib.contextmanager
def generating(*words, ports=("--port", "ring:a", "--receive", "ring:a")):
    with running(PERIGEE, "generate", *ports, "--duration", "120", *words) as process:
        client = Client(wait_for_socket(process))
        yield process, client
        client.close()


def statistics(client):
    text = json.dumps(done(client, do="statistics"))
    return valid("generate-statistics", text)


def listed(client):
    answer = done(client, do="streams")
    valid("generate-streams", json.dumps(answer))
    return answer.get("streams", [])


def sent(client, name):
    streams = statistics(client).get("streams", [])
    return sum(s["sent"]["packets"] for s in streams if s["name"] == name)


def finish(process, client, results):
    """The report; each packet that was sent came back."""
    done(client, do="finish")
    assert process.finish() == 0, process.said
    report = valid("generate", results.read_text())
    for direction in report.get("directions", [report]):
        got = direction["received"]
        assert got["lost"] == got["reordered"] == got["duplicates"] == got["unclear"] == 0
        assert got["packets"] == direction["sent"]["packets"], process.said
    return report


@pytest.mark.parametrize("words", [[], ["--both"]])
def test_none_is_lost_while_streams_come_change_and_go(tmp_path, words):
    results = tmp_path / "r.json"
    with generating("--rate", "2kpps", "--json", results, *words) as (process, client):
        wait_until(lambda: statistics(client).get("sent", {"packets": 1})["packets"],
                   "packets")
        assert [s["name"] for s in listed(client)] == ["1"]
        assert done(client, do="add", stream="eth,ip6,tcp;tcpDst=80;rate=3kpps;name=web") == {
            "stream": "web"}
        assert done(client, do="add", stream={"set": ["udpDst=53"], "rate": "1kpps"}) == {
            "stream": "2"}

        def count(name):
            got = statistics(client)
            return min(s["sent"]["packets"] for d in got.get("directions", [got])
                       for s in d.get("streams", []) if s["name"] == name)
        wait_until(lambda: count("web") > 100 and count("2") > 20, "packets of both")
        before = count("web")
        for to in ({"stack": "eth,ip4,udp", "set": None, "size": "imix"},
                   {"payload": "GET / HTTP/1.0", "rate": "4kpps"},
                   {"payload": None, "size": "64..128/7"}):
            done(client, do="change", stream="web", to=to)
            wait_until(lambda: count("web") > before + 50, "packets as they are now")
            before = count("web")
        done(client, do="remove", stream="2")
        gone = count("2")
        wait_until(lambda: count("web") > before + 200, "packets of the others")
        assert count("2") == gone
        report = finish(process, client, results)
    for direction in report.get("directions", [report]):
        streams = {s["name"]: s for s in direction["streams"]}
        assert list(streams) == ["1", "web", "2"]
        assert streams["2"]["removed"] and "removed" not in streams["web"]
        assert streams["2"]["sent"]["packets"] == streams["2"]["received"]["packets"] == gone
        assert sum(s["sent"]["packets"] for s in streams.values()) == (
            direction["sent"]["packets"])


def test_a_removed_streams_counts_stay_when_its_number_is_used_again(tmp_path):
    results = tmp_path / "r.json"
    with generating("--interactive", "--json", results) as (process, client):
        done(client, do="add", stream="rate=20kpps;count=500;name=s0")
        wait_until(lambda: sent(client, "s0") == 500, "its packets")
        done(client, do="remove", stream="s0")
        for i in range(1, 65):
            done(client, do="add", stream=f"rate=2kpps;name=s{i}")
            done(client, do="remove", stream=f"s{i}")
        report = finish(process, client, results)
    assert [s["name"] for s in report["streams"]] == [f"s{i}" for i in range(1, 65)]
    assert report["sent"]["packets"] - 500 == sum(
        s["sent"]["packets"] for s in report["streams"])
    assert report["received"]["numbered"] == report["sent"]["packets"]


def test_what_is_sent_is_as_the_client_said(tmp_path):
    file = tmp_path / "out.pcap"
    with generating("--interactive", ports=["--port", f"pcap:tx={file}"]) as (process,
                                                                              client):
        assert listed(client) == []
        done(client, do="add", held=True, stream={
            "name": "dns", "stack": "eth,ip4,udp", "set": ["udpDst=53,54"], "count": 4,
            "payload": "hex:cafe", "latency": "off", "size": 70})
        [stream] = listed(client)
        assert stream["held"] and sent(client, "dns") == 0
        assert stream["payload"] == "hex:cafe" and stream["set"] == ["udpDst=53,54"]
        done(client, do="go", stream="dns")
        wait_until(lambda: sent(client, "dns") == 4, "4 packets")
        done(client, do="change", stream="dns", to={"count": 6, "set": ["udpDst=99"]})
        wait_until(lambda: sent(client, "dns") == 6, "2 more")
        done(client, do="add", stream={key: value for key, value in stream.items()
                                       if key != "held"} | {"name": "copy", "count": 1})
        wait_until(lambda: sent(client, "copy") == 1, "the copy's")
        done(client, do="finish")
        assert process.finish() == 0, process.said
    packets = list(load(file))
    assert [int.from_bytes(p[36:38], "big") for p in packets] == [53, 54, 53, 54, 99, 99, 53]
    assert all(len(p) == 70 and p[42:] == b"\xca\xfe" + bytes(26) for p in packets)
    assert all(rebuilt(p) == p for p in packets)


@pytest.mark.parametrize("request_, sentence", [
    ({"do": "add", "stream": "name=a"}, "stream a: there is one already"),
    ({"do": "add", "stream": {"name": "x", "size": 20}},
     "stream x: a packet of 20 bytes is too short"),
    ({"do": "add", "stream": {"name": "x", "siz": 20}}, "stream x has no 'siz'; is 'size'"),
    ({"do": "add", "stream": {"name": "x", "rate": "fast"}}, "stream x: rate: 'fast' isn't a"),
    ({"do": "add", "stream": "name=x;tcpDst=1"}, "stream x: no header of the stack has a "),
    ({"do": "add", "stream": {"name": "x", "size": 45}}, "stream x: its packets have no room"),
    ({"do": "add", "stream": {"name": "x", "payload": "file:/etc/hostname"}},
     "stream x: payload: no file is read"),
    ({"do": "add", "stream": {"name": "x", "set": {"udpDst": 53}}}, "stream x: set is a list"),
    ({"do": "change", "stream": "a", "to": {"stack": "eth,ipx"}}, "stream a: the stack "),
    ({"do": "change", "stream": "a", "to": {"arrivals": "poisson", "rate": None}},
     "stream a: --arrivals needs a --rate"),
    ({"do": "change", "stream": "b", "to": {"size": 60}}, "there is no stream 'b'"),
    ({"do": "remove", "stream": "b"}, "there is no stream 'b'; is 'a' meant?")])
def test_what_is_refused_changes_nothing(tmp_path, request_, sentence):
    results = tmp_path / "r.json"
    with generating("--stream", "name=a;rate=1kpps", "--json", results) as (process, client):
        before = listed(client)
        assert sentence in client.ask(**request_)["error"]
        assert listed(client) == before
        packets = statistics(client)["sent"]["packets"]
        wait_until(lambda: statistics(client)["sent"]["packets"] > packets, "more packets")
        report = finish(process, client, results)
    assert report["name"] == "a" and "streams" not in report


def test_more_streams_than_are_possible(tmp_path):
    with generating("--interactive") as (process, client):
        for i in range(32):
            done(client, do="add", stream=f"name=s{i}", held=True)
        error = client.ask(do="add", stream="name=x")["error"]
        assert error == "stream x: 32 streams are possible, and there are as many"
        done(client, do="remove", stream="s7")
        done(client, do="add", stream="name=x", held=True)
        done(client, do="finish")
        assert process.finish() == 0, process.said
