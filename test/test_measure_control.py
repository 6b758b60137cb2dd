# SPDX-License-Identifier: Apache-2.0
"""What running programs that measure are told by their control sockets, and by HTTP."""

import contextlib
import json

import pytest

from helpers.capture import random_frames, save
from helpers.command import PERIGEE, running, wait_until
from helpers.control import Client, wait_for_socket
from helpers.schema import valid
from helpers.web import web


@contextlib.contextmanager
def told(*words, options=()):
    """The program runs; its process and a client."""
    with running(PERIGEE, *options, *words) as process:
        client = Client(wait_for_socket(process))
        yield process, client
        client.close()


def statistics(client, name):
    answer = client.ask(do="statistics")["answer"]
    valid(f"{name}-statistics", json.dumps(answer))
    return answer


def finish(process, client, status=0):
    assert client.ask(do="finish") == {"answer": {"finished": True}}
    assert process.finish() == status, process.said


def replaying(tmp_path, *words, ports=("null",), options=()):
    file = save(tmp_path / "in.pcap", random_frames(1000), gap_us=100000, began=1700000000)
    return told("replay", "--loop", "0", *words, file, *ports, options=options)


@pytest.mark.parametrize("ports", [["null"], ["null", "null"]])
def test_replay_is_held_and_goes_on_at_another_rate(tmp_path, ports):
    def packets():
        return statistics(client, "replay")["packets"]
    with replaying(tmp_path, ports=ports) as (process, client):
        assert client.ask(do="rate", rate="20kpps") == {"answer": {"rate": "20kpps"}}
        wait_until(lambda: packets() > 2000, "packets at the new rate")
        assert statistics(client, "replay")["loop"] > 1
        assert client.ask(do="hold") == {"answer": {"held": True}}
        held = packets()
        assert packets() == held and statistics(client, "replay")["held"]
        assert client.ask(do="go") == {"answer": {"held": False}}
        wait_until(lambda: packets() > held, "packets again")
        assert client.ask(do="rate", speed="1000") == {"answer": {"speed": "1000"}}
        faster = packets()
        wait_until(lambda: packets() > faster + 100, "packets at a speed")
        finish(process, client)
    assert "achieved:" in process.said


def test_finish_works_in_the_sandbox(tmp_path):
    results = tmp_path / "r.json"
    with replaying(tmp_path, "--rate", "5kpps", "--json", results,
                   options=["--sandbox"]) as (process, client):
        wait_until(lambda: statistics(client, "replay")["packets"] > 10, "packets")
        finish(process, client)
    assert json.loads(results.read_text())["replay"]["packets"] > 10


def test_what_replay_is_not_told(tmp_path):
    with replaying(tmp_path) as (process, client):
        for request, sentence in [
                ({}, "one of rate, such as"), ({"rate": "fast"}, "'fast' isn't a rate"),
                ({"rate": "1kpps", "speed": "2"}, "one of rate"),
                ({"speed": "-1"}, "speed is a number above 0, not '-1'")]:
            assert sentence in client.ask(do="rate", **request)["error"]
        finish(process, client)
    with replaying(tmp_path, "--topspeed") as (process, client):
        assert "leave out --topspeed" in client.ask(do="rate", rate="1kpps")["error"]
        finish(process, client)


def test_connections_are_held_and_go_on_at_another_rate(tmp_path):
    results = tmp_path / "r.json"

    def started():
        return statistics(client, "connect")["client"]["counts"]["started"]
    with told("connect", "both", "--clients", "10.0.0.0/24", "--servers", "10.1.0.1", "--rate",
              "10", "--json", results) as (process, client):
        assert client.ask(do="rate", rate="2k") == {"answer": {"rate": "2k"}}
        wait_until(lambda: started() > 500, "connections at the new rate")
        assert client.ask(do="hold") == {"answer": {"held": True}}
        held = started()
        wait_until(lambda: statistics(client, "connect")["client"]["counts"]["open"] == 0,
                   "the end of those that were open")
        assert started() == held
        assert client.ask(do="go") == {"answer": {"held": False}}
        wait_until(lambda: started() > held, "connections again")
        assert "rate is new connections a second" in client.ask(do="rate", rate="x")["error"]
        finish(process, client)
    report = json.loads(results.read_text())
    assert report["client"]["balanced"] and report["server"]["balanced"]
    assert report["client"]["counts"]["started"] > held


def test_trials_are_told_held_and_finished(tmp_path):
    results = tmp_path / "r.json"
    with told("loadtest", "find-limit", "--sizes", "60", "-b", "10M", "-p", "1k", "-D", "50ms",
              "--warm-up", "0", "--json", results, "A", "B", "ring:x", "B", "A", "null",
              "-e", "false") as (process, client):
        wait_until(lambda: statistics(client, "loadtest")["trials"] > 2, "trials")
        assert client.ask(do="hold") == {"answer": {"held": True}}
        wait_until(lambda: "trial" not in statistics(client, "loadtest"), "a trial's end")
        held = statistics(client, "loadtest")
        assert held["held"] and held["lowest_failed"] <= 10e6 and not held["last"]["passed"]
        assert statistics(client, "loadtest")["trials"] == held["trials"]
        assert client.ask(do="go") == {"answer": {"held": False}}
        wait_until(lambda: statistics(client, "loadtest")["trials"] > held["trials"], "trials")
        assert client.ask(do="finish") == {"answer": {"finished": True}}
        process.finish()
    [result] = json.loads(results.read_text())["results"]
    assert "SIGINT" in result["stopped"] and len(result["trials"]) >= held["trials"]


def test_by_http_with_a_token(tmp_path):
    with replaying(tmp_path, "--rate", "2kpps") as (process, _), web(process.pid) as server:
        told = server.get("control", request={"do": "statistics"})["answer"]
        valid("replay-statistics", json.dumps(told))
        assert server.get("control", request={"do": "hold"}) == {"answer": {"held": True}}
        for request, sentence in [({"do": "rates"}, "is 'rate' meant?"), (7, "is an object"),
                                  ({"do": "trace"}, "/api/trace")]:
            assert sentence in server.refused("control", {"request": request})[1]
        assert server.get("control", request={"do": "finish"})["answer"]["finished"]
        assert process.finish() == 0
