# SPDX-License-Identifier: Apache-2.0
"""What a running perigee generate is told by its control socket."""

import contextlib
import json

import pytest

from helpers.command import PERIGEE, running, wait_until
from helpers.control import Client, wait_for_socket

STREAMS = ["--stream", "eth,ip4,udp;name=dns;rate=1kpps", "--stream", "eth,ip6,tcp;name=web"
           ";rate=1kpps"]


@contextlib.contextmanager
def generating(*words):
    with running(PERIGEE, "generate", "--port", "ring:a", "--receive", "ring:a", "--duration",
                 "60", *words) as process:
        client = Client(wait_for_socket(process))
        yield process, client
        client.close()


def sent(client, name):
    answer = client.ask(do="statistics")["answer"]
    [stream] = [s for s in answer["streams"] if s["name"] == name]
    return stream["sent"]["packets"]


def test_streams_are_held_and_go_on():
    with generating(*STREAMS) as (process, client):
        assert client.ask(do="hold", stream="dns") == {"answer": {"held": True}}
        held, goes = sent(client, "dns"), sent(client, "web")
        wait_until(lambda: sent(client, "web") > goes + 200, "packets of web")
        assert sent(client, "dns") == held
        assert client.ask(do="go") == {"answer": {"held": False}}
        wait_until(lambda: sent(client, "dns") > held, "packets of dns")
        process.send(2)
        assert process.finish() == 0
    assert "lost: 0 (0 %)" in process.said


def test_another_rate_keeps_the_counts(tmp_path):
    results = tmp_path / "results"
    with generating("--rate", "100pps", "--json", results) as (process, client):
        before = client.ask(do="statistics")["answer"]["sent"]["packets"]
        assert client.ask(do="rate", rate="20kpps") == {"answer": {"rate": "20kpps"}}
        wait_until(lambda: client.ask(do="statistics")["answer"]["sent"]["packets"] >
                   before + 2000, "packets at the new rate")
        process.send(2)
        assert process.finish() == 0
    report = json.loads(results.read_text())
    assert report["sent"]["requested_pps"] == 20000
    assert report["received"]["packets"] == report["sent"]["packets"] > before + 2000
    assert report["received"]["lost"] == report["received"]["other"] == 0


@pytest.mark.parametrize("request_, sentence", [
    ({"do": "rate", "rate": "fast"}, "'fast' isn't a rate such as"),
    ({"do": "rate"}, "rate says which, such as"),
    ({"do": "rate", "rate": 7}, "rate is a string, not 7"),
    ({"do": "hold", "stream": "dn"}, "there is no stream 'dn'; is 'dns' meant?"),
    ({"do": "go", "streams": "dns"}, "of go, the key 'streams' isn't known")])
def test_a_wrong_command_changes_nothing(request_, sentence):
    with generating(*STREAMS) as (process, client):
        assert sentence in client.ask(**request_)["error"]
        before = sent(client, "dns")
        wait_until(lambda: sent(client, "dns") > before, "packets of dns")
        process.send(2)
        assert process.finish() == 0


def test_nothing_more_is_sent_once_all_has_been(tmp_path):
    """What comes back is waited for: nothing does. Ctrl-C ends that, too."""
    results = tmp_path / "results"
    with running(PERIGEE, "generate", "--port", "null", "--receive", "ring:b", "--rate",
                 "1kpps", "--count", "20", "--idle", "600", "--json", results) as process:
        client = Client(wait_for_socket(process))
        answer = {}

        def refused():
            answer.update(client.ask(do="go"))
            return "error" in answer
        wait_until(refused, lambda: f"a refusal: {answer} {process.said}")
        assert answer["error"] == "all has been sent; what is still under way is received"
        for request in {"do": "hold"}, {"do": "rate", "rate": "5kpps"}:
            assert client.ask(**request)["error"] == answer["error"]
        assert client.ask(do="statistics")["answer"]["sent"]["packets"] == 20
        assert process.interrupt() == 0, process.said
        client.close()
    sent = json.loads(results.read_text())["sent"]
    assert (sent["packets"], sent["requested_pps"]) == (20, 1000)
    assert 0 < sent["seconds"]


def test_a_receiver_alone_has_nothing_to_be_told():
    with running(PERIGEE, "generate", "--receive", "null", "--duration", "60") as process:
        client = Client(wait_for_socket(process))
        assert "the request 'rate' isn't known" in client.ask(do="rate", rate="1kpps")["error"]
        client.close()
