# SPDX-License-Identifier: Apache-2.0
"""Handlers of Click configurations, and other configurations, by the control socket."""

import contextlib
import json

import pytest

from helpers.command import PERIGEE, running, wait_until
from helpers.control import Client, done, wait_for_socket
from helpers.web import web

TEXT = ('TimedSource(0.001, "x") -> c :: Counter -> s :: Switch(0) -> d :: Discard;'
        's[1] -> e :: Discard;')


@contextlib.contextmanager
def told(*words):
    with running(PERIGEE, *words) as process:
        client = Client(wait_for_socket(process))
        yield process, client
        client.close()


def count(client, handler="c.count"):
    return int(done(client, do="read", handler=handler)["value"])


def test_handlers_are_read_written_and_listed():
    with told("click", "-e", TEXT) as (_, client):
        elements = {e["name"]: e["class"] for e in done(client, do="handlers")["elements"]}
        assert elements["s"] == "Switch" and len(elements) == 5
        of_s = {h["name"]: h for h in done(client, do="handlers", element="s")["handlers"]}
        assert of_s["switch"] == {"name": "switch", "read": True, "write": True,
                                  "argument": False}
        wait_until(lambda: count(client, "d.count") > 10, "packets at d")
        assert done(client, do="write", handler="s.switch", value="1") == {"written": True}
        before = count(client, "d.count")
        wait_until(lambda: count(client, "e.count") > 10, "packets at e")
        assert count(client, "d.count") == before
        for request, sentence in [
                ({"do": "read", "handler": "x.count"}, "there is no element 'x'"),
                ({"do": "read", "handler": "c.cnt"}, "there is no handler 'c.cnt'"),
                ({"do": "read", "handler": "c.reset"}, "handler 'c.reset' can't be read"),
                ({"do": "write", "handler": "c.count"}, "'c.count' can't be written to"),
                ({"do": "write", "handler": "s.switch", "value": "a"}, "must be integer"),
                ({"do": "reconfigure", "text": TEXT}, "with -R, on one CPU"),
                ({"do": "reconfigure"}, "reconfigure says which text")]:
            assert sentence in client.ask(**request)["error"]
        client.ask(do="write", handler="stop")


def test_requests_wait_for_the_configuration_that_takes_over():
    with told("click", "-R", "-e", TEXT) as (process, client):
        wait_until(lambda: count(client) > 10, "packets")
        other = Client(wait_for_socket(process))
        before = count(client)
        for i in range(5):
            client.send(do="reconfigure", text=TEXT + f" n{i} :: Idle -> Discard;")
            client.send(do="read", handler="list")
            other.send(do="read", handler="c.count")
            assert client.line() == {"answer": {"reconfigured": True}}
            assert f"n{i}\n" in client.line()["answer"]["value"]
            now = int(other.line()["answer"]["value"])
            assert now >= before
            before = now
        for text, sentence in [("c :: Cuonter", "Cuonter"),
                               ("FromDevice(nothere) -> Discard", "'nothere'")]:
            assert sentence in client.ask(do="reconfigure", text=text)["error"]
            assert "n4 ::" in done(client, do="read", handler="config")["value"]
        # A client that goes while it is awaited leaves all as it is.
        other.send(do="reconfigure", text=TEXT)
        other.close()
        wait_until(lambda: "n4" not in done(client, do="read", handler="config")["value"],
                   "the configuration of the client that has gone")
        client.ask(do="write", handler="stop")


@pytest.mark.parametrize("words", [
    ["--cpus", "0-1", "--device", "x=null", "-e",
     "FromDevice(x) -> c :: Counter -> s :: Switch(0) -> d :: Discard; s[1] -> Discard;"],
    ["-j", "2", "-e", "a :: InfiniteSource -> Queue -> u :: Unqueue -> c :: Counter"
     " -> s :: Switch(0) -> d :: Discard; s[1] -> Discard; StaticThreadSched(a 0, u 1);"]])
def test_several_cpus_answer_as_one(words):
    with told("click", *words) as (process, client):
        wait_until(lambda: count(client) > 100, lambda: f"packets: {process.said}")
        done(client, do="write", handler="s.switch", value="1")
        assert done(client, do="read", handler="s.switch")["value"].strip() == "1"
        assert "c" in done(client, do="read", handler="list")["value"].split()
        assert "only elements' handlers" in client.ask(do="write", handler="stop")["error"]
        process.send(2)
        process.finish()


def test_by_http_only_with_the_token():
    request = {"request": {"do": "read", "handler": "c.count"}}
    with told("click", "-e", TEXT) as (process, client):
        with web(process.pid) as server:
            assert server.get("control", **request)["answer"]["value"].isdigit()
        with web("--no-token", process.pid) as server:
            for do in ("read", "write", "reconfigure", "hold", "finish", "add",
                       "configuration", "record", "stop"):
                request["request"]["do"] = do
                assert "needs the token" in server.refused("control", request)[1]
            assert server.get("control", request={"do": "info"})["answer"]["apps"]
        client.ask(do="write", handler="stop")


def graph(size):
    return json.dumps({"apps": {
        "source": {"class": "apps.basic.basic_apps.Source", "arg": size},
        "sink": {"class": "apps.basic.basic_apps.Sink"}},
        "links": ["source.output -> sink.input"]})


def test_a_graph_files_text_is_replaced(tmp_path):
    file = tmp_path / "graph.json"
    file.write_text(graph(60))
    with told("run", file) as (process, client):
        assert done(client, do="reconfigure", text=graph(80)) == {
            "reconfigured": True, "changes": "1 app changed"}
        assert done(client, do="configuration")["text"] == graph(80)
        error = client.ask(do="reconfigure", text='{"apps": {"a": {"class": "no.Such"}}}')
        assert "no.Such" in error["error"] and "stays as it was" in error["error"]
        assert done(client, do="configuration")["text"] == graph(80)
        assert done(client, do="reconfigure")["changes"] == "1 app changed"
        assert done(client, do="configuration")["text"] == graph(60)
        process.send(2)
        process.finish()
    with told("--sandbox", "run", file) as (process, client):
        assert "--sandbox lets no more files" in client.ask(do="reconfigure")["error"]
        assert done(client, do="info")["apps"]
        process.send(2)
        process.finish()
