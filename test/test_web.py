# SPDX-License-Identifier: Apache-2.0
"""`perigee web`: what its server answers and refuses, whatever becomes of browsers and
instances."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest
from scapy.utils import RawPcapNgReader

from helpers.command import PERIGEE, perigee, run, running, wait_until
from helpers.web import LINKS, TOKEN, graph, web


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web")
    with graph(folder, f"web-{os.getpid()}") as process:
        yield process


@pytest.fixture(scope="module")
def server(instance):
    with web(instance.name) as it:
        yield it


def test_it_tells_the_graph_and_what_it_does(server, instance):
    told = server.get("graph")
    assert (told["pid"], told["name"]) == (instance.pid, instance.name)
    assert [link["link"] for link in told["links"]] == LINKS
    assert told["regions"] == [{"number": 1, "apps": ["gate", "fwd"]}]
    assert told["svg"].count('class="app"') == 4
    now = server.get("live")
    assert set(now["links"]) == set(LINKS)
    assert now["links"][LINKS[0]]["packets"] > 0
    parts = {"receive", "send", "engine", "gate+1"}
    later = wait_until(lambda: (s := server.get("live"))["time"] > now["time"]
                       and parts <= {c["name"] for c in s.get("cycles", [])} and s,
                       "another sample, and one of cycles with packets")
    assert later["links"][LINKS[0]]["packets"] > now["links"][LINKS[0]]["packets"]
    assert server.get("instances")["only"] == instance.name


def test_it_keeps_a_history(server):
    """It is there for a page that is opened later, and grows by what is new."""
    link = f"link:{LINKS[0]}"
    told = wait_until(lambda: (h := server.get("history", series=[link, "no:such"]))["last"]
                      >= 2 and h, "two seconds of history")
    assert len(told["times"]) == len(told["pps"]) == len(told["load"]) == told["last"]
    assert max(told["pps"]) > 0 and max(told["more"][link]) > 0
    assert set(told["more"]["no:such"]) == {None}
    new = wait_until(lambda: (h := server.get("history", since=told["last"])).get("times")
                     and h, "a newer point")
    assert len(new["times"]) == new["last"] - told["last"]
    assert server.get("history", since=1e15) == {"last": 1e15}
    for wrong in "x", [7], ["x"] * 1001:
        assert "series is a list" in server.refused("history", {"series": wrong})[1]


def test_graphs_are_drawn_with_and_without_graphviz(instance, tmp_path):
    """A program `dot` that isn't Graphviz's, one that never ends, and none."""
    for number, script in enumerate(["echo '{}'", "exec sleep 1000", None]):
        path = tmp_path / str(number)
        path.mkdir()
        for tool in "timeout", "sleep", "sh":
            (path / tool).symlink_to(shutil.which(tool))
        if script:
            (path / "dot").write_text(f"#!/bin/sh\n{script}\n")
            (path / "dot").chmod(0o755)
        with web(instance.name, PATH=str(path)) as it:
            assert it.get("graph")["svg"].count('class="app"') == 4


def test_packets_traces_and_captures(server, tmp_path):
    packets = server.get("packets", link=LINKS[0])["packets"]
    assert len(packets) == 10
    eth = packets[0]["headers"][0]
    assert eth["name"] == "eth" and ["Dst", "07:00:00:00:00:00"] in eth["fields"]
    traces = server.get("trace", app="fwd", count=3)["traces"]
    assert len(traces) == 3
    assert traces[0]["links"] == [LINKS[1], LINKS[0]]
    assert "freed by sink" in traces[0]["text"]
    status, capture = server.ask("capture", {"link": LINKS[1], "limit": 20})
    assert status == 200
    (tmp_path / "capture.pcapng").write_bytes(capture)
    assert len(list(RawPcapNgReader(str(tmp_path / "capture.pcapng")))) == 20
    assert server.get("packets", link=LINKS[0], filter="ip6") == {}


@pytest.mark.fast
def test_who_may_ask(server):
    for path in "/", "/page.css", "/page.js", "/state.js", "/server.js", "/elements.js", \
            "/picture.js", "/details.js", "/view.js", "/charts.js", "/instances.js", \
            "/overview.js", "/packets.js":
        assert server.request("GET", path)[0] == 200
        assert server.request("HEAD", path) == (200, b"")
    for path in ("/page.html", "/web.lua", "/../web.lua", "/page.js/../web.lua", "//",
                 "/%2e%2e/web.lua", "/page.js%00", "/api/live", "/etc/passwd"):
        assert server.request("GET", path)[0] == 404
        assert server.header("Content-Security-Policy", path) == "frame-ancestors 'none'"
    for host in "localhost", "127.0.0.1:80", "[::1]":
        assert server.request("GET", "/", host=host)[0] == 200
        assert server.ask("live", Host=host)[0] == 200
    for host in "evil.example", "127.0.0.1.evil.example", "":
        assert server.request("GET", "/", host=host)[0] == 403
        assert server.ask("live", Host=host)[0] == 403
    for token in "", "x", TOKEN[:-1], TOKEN + "0", TOKEN.upper():
        status, sentence = server.refused("live", {}, token=token)
        assert status == 403 and "token is missing or wrong" in sentence
    assert server.ask("live", **{"X-Perigee": "0"})[0] == 403
    assert server.request("PUT", "/", b"")[0] in (403, 404)


@pytest.mark.fast
def test_what_is_wrong_is_told(server):
    for name, body, status, sentence in [
            ("live", b"[", 400, "the body is no object in JSON"),
            ("live", b"7", 400, "the body is no object in JSON"),
            ("live", b"[" * 100000, 400, "the body is no object in JSON"),
            ("nothing", b"{}", 404, "nothing of that name"),
            ("../live", b"{}", 404, "nothing of that name"),
            ("packets", {"link": "in.output -> gat.input"}, 400,
             "is 'in.output -> gate.input' or"),
            ("packets", {"link": 7}, 400, "link is a string"),
            ("packets", {}, 400, "one of"),
            ("trace", {"app": "gat"}, 400, "there is no app 'gat'; is 'gate' meant?"),
            ("trace", {"filter": "no such"}, 400, "'no such' is no packet filter"),
            ("trace", {"filter": "ip or " * 80000 + "ip"}, 400, "a request has up to 65536 "
             "bytes, not 480"),
            ("packets", {"link": LINKS[0], "filter": "x" * 500000}, 400, "not 500"),
            ("trace", {"count": -1}, 400, "count is a number up to 100"),
            ("trace", {"seconds": 1e9}, 400, "seconds is a number up to 30")]:
        told = server.refused(name, body)
        assert told[0] == status and sentence in told[1], told
    big = server.ask("live", b" " * (2 << 20))
    assert big[0] == 413


def test_of_any_instance_and_none(instance):
    with web() as it:
        listed = it.get("instances")["instances"]
        assert instance.pid in [i["pid"] for i in listed]
        assert it.get("graph", instance=instance.name)["pid"] == instance.pid
        assert "say which instance" in it.refused("graph", {})[1]
        assert "no running instance 'none'" in it.refused("graph", {"instance": "none"})[1]


@pytest.mark.fast
def test_options():
    for args, env, sentence in [
            (["no-such-instance"], {}, "there is no running instance 'no-such-instance'"),
            (["--no-token", "--listen", "0.0.0.0:0"], {}, "at 127.0.0.1 only"),
            (["--listen", "here"], {}, "--listen here: give a TCP port"),
            ([], {"PERIGEE_WEB_TOKEN": "short"}, "a token has at least 16")]:
        result = perigee("web", *args, env={**os.environ, **env})
        assert result.returncode == 2 and sentence in result.stderr
    urls = set()
    for args in ["--no-token"], ["--host", "box.example"], []:
        with web(*args, PERIGEE_WEB_TOKEN="") as it:
            urls.add(it.url.partition("#")[2])
            assert it.ask("instances")[0] == (200 if args == ["--no-token"] else 403)
            assert it.request("GET", "/", host="box.example")[0] \
                == (200 if "box.example" in args else 403)
            assert it.process.interrupt() == 0
    assert "" in urls and len(urls) == 3 and all(
        not url or re.fullmatch("token=[0-9a-f]{32}", url) for url in urls)


def test_unix_socket(tmp_path, instance):
    path = tmp_path / "web.socket"
    with running(PERIGEE, "web", instance.name, "--listen", f"unix:{path}") as process:
        process.wait_for("unix:")
        assert path.stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"POST /api/live HTTP/1.1\r\nHost: localhost\r\n"
                           b"X-Perigee: 1\r\nContent-Length: 2\r\n\r\n{}")
            assert client.recv(12) == b"HTTP/1.1 200"
        assert process.interrupt() == 0
    assert not path.exists()


def sent(instance):
    """Packets that the instance has sent or freed."""
    listed = perigee("metrics", instance.name).stdout
    return int(re.search(r"perigee_packets_total{[^}]*} (\d+)", listed)[1])


def test_dead_browsers_and_a_killed_server_stop_nothing(tmp_path):
    name = f"web-dead-{os.getpid()}"
    with graph(tmp_path, name) as process, web(name) as it:
        body = json.dumps({"filter": "host 1.2.3.4", "seconds": 30}).encode()
        head = (f"POST /api/trace HTTP/1.1\r\nHost: localhost\r\nX-Perigee: 1\r\n"
                f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n")
        browsers = []
        for i in range(20):  # some go at once, the others never read
            client = socket.create_connection(("127.0.0.1", it.port))
            client.sendall(head.encode() + body)
            if i % 2:
                client.close()
            else:
                browsers.append(client)
        assert it.get("live")["pid"] == process.pid
        before = sent(process)
        wait_until(lambda: sent(process) > before, "more packets")
        it.process.process.kill()
        before = sent(process)
        wait_until(lambda: sent(process) > before, "more packets")
        with web(name) as again:
            assert len(again.get("trace", count=1)["traces"]) == 1
        for client in browsers:
            client.close()
        assert process.interrupt() == 0


def test_an_instance_that_stands_still_or_dies(tmp_path):
    name = f"web-dies-{os.getpid()}"
    with graph(tmp_path, name) as process, web(name) as it:
        it.get("live")
        process.send(signal.SIGSTOP)
        body = b'{"count": 1}'
        waiting = socket.create_connection(("127.0.0.1", it.port))
        waiting.sendall((
            f"POST /api/trace HTTP/1.1\r\nHost: localhost\r\nX-Perigee: 1\r\n"
            f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode() + body)
        assert it.request("GET", "/")[0] == 200  # others needn't wait for that one
        assert it.get("live")["pid"] == process.pid
        assert b"its engine doesn't run now" in waiting.makefile("rb").read()
        waiting.close()
        process.send(signal.SIGKILL)
        process.finish()
        status, sentence = it.refused("live", {})
        assert status in (400, 503)
        assert "has ended" in sentence or "there is no running instance" in sentence


@pytest.mark.fast
@pytest.mark.parametrize("place", ["0", "unix:socket"])
def test_an_address_that_cannot_be_told(place, tmp_path):
    with open("/dev/full", "w") as full:
        result = run(PERIGEE, "web", "--listen", place, capture_output=False, stdout=full,
                     stderr=subprocess.PIPE, cwd=tmp_path)
    assert result.returncode == 1
    assert "its address is unknown: No space left on device\n" in result.stderr
    assert not list(tmp_path.iterdir())  # no socket is left
