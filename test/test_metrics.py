# SPDX-License-Identifier: Apache-2.0
"""Metrics: --metrics, `perigee metrics`; checked by Prometheus's own promtool."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

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


def get(place, page, accept="", method="GET"):
    """Head and body of the page from the place: a port, or a socket's path."""
    port = isinstance(place, int)
    with socket.socket(socket.AF_INET if port else socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(("127.0.0.1", place) if port else str(place))
        client.sendall(f"{method} {page} HTTP/1.1\r\nHost: x\r\n{accept}\r\n".encode())
        data = b""
        while more := client.recv(65536):
            data += more
    head, _, body = data.decode().partition("\r\n\r\n")
    return head, body


def has_ended(pid):
    """It is no more, or waits for its parent to look at how it ended."""
    try:
        return not Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return True


def said(place, page):
    """The body of the page; empty as long as nobody listens there, or if who does ends."""
    try:
        return get(place, page)[1]
    except (ConnectionError, FileNotFoundError):
        return ""


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


def helper_of(pid):
    """The process that serves its metrics."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            if b"--serve-for" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
    return None


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_many_who_ask_get_old_pages_and_cost_little(instance):
    helper, stop, pages = helper_of(instance.pid), threading.Event(), []

    def ask():
        while not stop.is_set():
            pages.append(get(instance.path, "/metrics")[1])

    assert get(instance.path, "/healthz")[1] == "ok\n"
    began, used = time.monotonic(), cpu_seconds(helper)
    clients = [threading.Thread(target=ask) for _ in range(20)]
    for client in clients:
        client.start()
    wait_until(lambda: len(set(pages)) >= 3, "three pages")
    assert get(instance.path, "/healthz")[1] == "ok\n"
    took, used = time.monotonic() - began, cpu_seconds(helper) - used
    stop.set()
    for client in clients:
        client.join()
    assert len(pages) >= 20
    assert len(set(pages)) <= took + 1
    # A hundredth, what was saved before, a step that was begun, and the clock's ticks.
    assert used <= 0.01 * took + 0.05 + 0.1


def test_idle_clients_keep_nobody_out(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with running(PERIGEE, "--metrics", port, "echo", "null", 1) as process:
        wait_until(lambda: said(port, "/readyz") == "ok\n", "the engine")
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
        for page in "/healthz", "/readyz", "/metrics":
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=60) as got:
                assert got.status == 200
        evil = urllib.request.Request(f"http://127.0.0.1:{port}/metrics",
                                      headers={"Host": "evil.example.com"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(evil, timeout=60)
        for client in held:
            client.close()


def test_it_is_well_from_its_first_moment(tmp_path):
    for n in range(3):
        path, answers = tmp_path / f"metrics{n}", []
        with running(PERIGEE, "--metrics", f"unix:{path}", "echo", "null", 1) as process:
            while process.read(0) and answers[-4:] != ["ok\n"] * 4:
                answers += [said(path, "/readyz"), said(path, "/healthz")]
        assert set(answers) <= {"", "no app runs\n", "ok\n"}
        assert answers[-1] == "ok\n", process.said


def test_a_stuck_engine_is_not_well(instance):
    os.kill(instance.pid, signal.SIGSTOP)
    try:
        wait_until(lambda: " 503 " in get(instance.path, "/healthz")[0], "503")
        assert re.fullmatch(r"the engine hasn't breathed for \d+ seconds\n",
                            get(instance.path, "/readyz")[1])
    finally:
        os.kill(instance.pid, signal.SIGCONT)
    wait_until(lambda: get(instance.path, "/healthz")[1] == "ok\n", "breaths")


def test_who_serves_is_started_again_and_ends_with_the_process(tmp_path):
    path = tmp_path / "m"
    with running(PERIGEE, "--metrics", f"unix:{path}", "echo", "null", 1) as process:
        process.wait_for_engine()
        first = helper_of(process.pid)
        assert str(first) not in perigee("ps").stdout.split()
        time.sleep(10)  # one that ends at once isn't replaced
        os.kill(first, signal.SIGKILL)
        second = wait_until(lambda: (found := helper_of(process.pid)) != first and found,
                            "another")
        assert get(path, "/healthz")[1] == "ok\n"
        os.kill(process.pid, signal.SIGKILL)
        wait_until(lambda: has_ended(second), "its end")


@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_one_that_was_killed_keeps_its_place_from_nobody(tmp_path, kind):
    """Its helper ends a moment later."""
    path = tmp_path / "m"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place, text = (path, f"unix:{path}") if kind == "unix" else (port, port)
    for _ in range(3):
        with running(PERIGEE, "--metrics", text, "echo", "null", 1) as process:
            process.wait_for_engine()
            wait_until(lambda: said(place, "/healthz") == "ok\n",
                       lambda: f"the engine: {process.said}")
            os.kill(process.pid, signal.SIGKILL)
    with running(PERIGEE, "--metrics", text, "echo", "null", 1) as process:
        process.wait_for_engine()
        result = perigee("--metrics", text, "echo", "null", 1, 0.1)
        assert (result.returncode, result.stderr) == (
            1, f"perigee: --metrics {text}: bind: Address already in use\n")


def test_a_script_of_libmoon_has_them_too(tmp_path):
    path = tmp_path / "m"
    script = ROOT / "test/moongen/loops.lua"
    with running(PERIGEE, "--metrics", f"unix:{path}", "moongen", "--port", "0=null", script,
                 "clean") as process:
        def sent():
            assert process.read(), process.said
            try:
                return samples(get(path, "/metrics")[1]).get(
                    'perigee_queue_packets_total{device="0",queue="1",way="tx"}')
            except OSError:
                return None
        wait_until(sent, "packets")
        found = samples(get(path, "/metrics")[1])
        assert found["perigee_packets_total"] > 0
        assert found['perigee_task_cpu_seconds_total{task="2 clean"}'] >= 0
        assert get(path, "/readyz")[1] == get(path, "/healthz")[1] == "ok\n"


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
