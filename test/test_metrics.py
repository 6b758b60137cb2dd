# SPDX-License-Identifier: Apache-2.0
"""Metrics: --metrics, `perigee metrics`; checked by Prometheus's own promtool."""

import json
import os
import re
import shutil
import socket
import urllib.error
import urllib.request

import pytest

from helpers.command import PERIGEE, ROOT, perigee, run, running, wait_until
from helpers.control import graph

PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(
    not PROMTOOL, reason="promtool (Debian's package prometheus) isn't there")


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    folder = tmp_path_factory.mktemp("metrics")
    more = 'for _, n in ipairs{"tee", "last", "sink"} do config.cpu(c, n, 1) end'
    with graph(folder, f"metrics-{os.getpid()}", more, ["--metrics", f"unix:{folder}/m"]) \
            as process:
        process.path = folder / "m"
        yield process


def get(path, page, accept="", method="GET"):
    """Head and body of the page."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(str(path))
        client.sendall(f"{method} {page} HTTP/1.1\r\nHost: x\r\n{accept}\r\n".encode())
        data = b""
        while more := client.recv(65536):
            data += more
    head, _, body = data.decode().partition("\r\n\r\n")
    return head, body


OPEN = "Accept: application/openmetrics-text; version=1.0.0\r\n"


def samples(text):
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
            for line in text.splitlines() if not line.startswith("#")}


@pytest.mark.fast
def test_what_is_served_agrees_with_the_counters(instance):
    def shm():
        return json.loads(perigee("shm", "--json", instance.pid).stdout)
    before = shm()
    head, body = get(instance.path, "/metrics", OPEN)
    after = shm()
    assert head.startswith("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text")
    found = samples(body)
    for sample, counter in (
            ('perigee_link_packets_total{link="source.output -> half.input"}',
             "links/source.output -> half.input/txpackets"),
            ('perigee_app_drops_total{app="half",reason="not_wanted"}',
             "apps/half/drop_not_wanted"),
            ("perigee_packets_total", "engine/frees")):
        assert before[counter] <= found[sample] <= after[counter], sample
    assert any('cpu="1"' in name for name in found)
    assert found["perigee_pool_packets"] >= found["perigee_pool_available_packets"] > 0


def test_the_counters_of_a_link_are_read_together(tmp_path):
    """Of many links some are read after a pause, in which packets pass."""
    path = tmp_path / "m"
    with running(PERIGEE, "--metrics", f"unix:{path}", "echo", "null:size=60", 12) as process:
        process.wait_for_engine()
        for _ in range(5):
            found = samples(get(path, "/metrics", OPEN)[1])
            waiting = {name: n for name, n in found.items() if "waiting" in name}
            assert len(waiting) == 13
            assert max(waiting.values()) < 1024, waiting


def test_cycles_come_once_there_are_samples(instance):
    wait_until(lambda: 'perigee_cycles_total{cpu="main",part="receive"}' in samples(
        get(instance.path, "/metrics")[1]), "cycles")


def test_histograms_are_cumulative(instance):
    found = samples(get(instance.path, "/metrics")[1])
    buckets = [n for name, n in found.items()
               if name.startswith('perigee_breath_seconds_bucket{cpu="main"')]
    assert len(buckets) > 20 and buckets == sorted(buckets)
    assert buckets[-1] == found['perigee_breath_seconds_count{cpu="main"}'] > 0


@needs_promtool
def test_promtool_finds_nothing_wrong(instance):
    for text in get(instance.path, "/metrics")[1], perigee("metrics", "--plain").stdout:
        result = run(PROMTOOL, "check", "metrics", input=text)
        assert (result.returncode, result.stdout + result.stderr) == (0, "")


@needs_promtool
def test_prometheus_reads_it_as_openmetrics(instance, tmp_path):
    for i, text in enumerate((get(instance.path, "/metrics", OPEN)[1],
                              perigee("metrics", instance.pid).stdout)):
        file = tmp_path / f"{i}.txt"  # a sample needs a time here
        file.write_text(re.sub(r"^([^#].*)$", r"\1 1700000000", text, flags=re.MULTILINE))
        result = run(PROMTOOL, "tsdb", "create-blocks-from", "openmetrics", file,
                     tmp_path / str(i))
        assert result.returncode == 0, result.stderr


def test_the_names_are_those_of_the_page(instance):
    page = (ROOT / "doc/metrics.md").read_text()
    documented = set(re.findall(r"^\| `(\w+)`", page, re.MULTILINE))
    text = get(instance.path, "/metrics", OPEN)[1]
    told = set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
    assert told <= documented and len(told) > 15
    dashboard = (ROOT / "contrib/grafana.json").read_text()
    json.loads(dashboard)
    used = set(re.findall(r"perigee_\w+", dashboard))
    bases = {re.sub(r"_(total|bucket|info)$", "", name) for name in used}
    assert bases <= documented


def test_health(instance):
    assert get(instance.path, "/healthz")[1] == "ok\n"
    assert get(instance.path, "/readyz")[1] == "ok\n"
    assert " 404 " in get(instance.path, "/x")[0]
    assert " 405 " in get(instance.path, "/metrics", method="POST")[0]
    head, body = get(instance.path, "/metrics", method="HEAD")
    assert " 200 " in head and body == ""


def test_bad_clients(instance):
    for data in b"\n\n", b"x" * 10**6, b"GET", b"\r\n\r\n", b"GET /metrics\r\n\r\n":
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(instance.path))
            try:
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                client.recv(100)
            except OSError:
                pass
    hangs = [socket.socket(socket.AF_UNIX) for _ in range(5)]
    for client in hangs:
        client.connect(str(instance.path))
    assert get(instance.path, "/healthz")[1] == "ok\n"
    for client in hangs:
        client.close()
    assert instance.read()


def test_of_all_instances_by_tcp(instance):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with running(PERIGEE, "metrics", "--listen", port) as process:
        def page():
            assert process.read(), process.said
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as found:
                    return found.read().decode()
            except urllib.error.URLError:
                return None
        text = wait_until(page, "the page")
        assert f'perigee_breaths_total{{process="{instance.name}"}}' in text
        assert process.interrupt() == 0


REFUSED = [
    (["--metrics", "http", "echo", "null"], 2, "--metrics http: give a TCP port"),
    (["echo", "null", "--metrics", "70000"], 2, "--metrics 70000: give a TCP port"),
    (["echo", "null", "--metrics", "unix:/nowhere/x"], 1, "--metrics unix:/nowhere/x: "),
    (["--metrics", "8.8.8.8:9000", "echo", "null"], 1, "Cannot assign"),
    (["metrics", "--listen", "x"], 2, "--listen x: give a TCP port"),
    (["metrics", "nobody"], 2, "there is no running instance 'nobody'"),
]


@pytest.mark.parametrize("args, status, sentence", REFUSED)
def test_what_is_wrong_is_told(args, status, sentence):
    result = perigee(*args)
    assert result.returncode == status and sentence in result.stderr, result.stderr
