# SPDX-License-Identifier: Apache-2.0
"""`perigee capture @INSTANCE:WHAT`: packets of links and apps of a graph that runs, and
what is dropped there."""

import os
import resource
import signal
import subprocess
import time

import pytest

from helpers.capture import packets_of
from helpers.command import PERIGEE, perigee, run, running, tool, wait_until
from helpers.control import Client, graph, path_of


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    folder = tmp_path_factory.mktemp("capture")
    with graph(folder, f"capture-{os.getpid()}") as process:
        yield process


def packets(path):
    return packets_of(path.read_bytes())


@pytest.mark.parametrize("what", [
    "source.output -> half.input", "half.output->fwd.input", "fwd.output -> tee.input",
    "tee.output -> last.input", "last.output -> sink.input", "tee", "source", "sink"])
def test_any_link_and_any_app(instance, tmp_path, what):
    path = tmp_path / "a.pcapng"
    result = perigee("capture", "--limit", "100", f"@{instance.name}:{what}", path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"capture: 100 packets written to {path}\n"
    first = b"\0" if what.startswith("source") else b"\7"
    assert [p for p, _ in packets(path)] == 100 * [first + bytes(59)]


@pytest.mark.fast
def test_what_is_dropped_with_its_reason(instance, tmp_path):
    path = tmp_path / "d.pcapng"
    perigee("capture", "--limit", "20", "--snaplen", "14", f"@{instance.pid}:dropped", path)
    assert packets(path) == 20 * [(bytes(14), "dropped by half: not wanted")]


def test_into_a_pipe_that_tcpdump_reads(instance):
    command = f"'{PERIGEE}' capture --limit 7 @{instance.name}:tee - | {tool('tcpdump')} -nr -"
    result = run("sh", "-c", command)
    assert result.stdout.count("llc") == 7
    assert "capture: 7 packets written to stdout" in result.stderr


def test_a_reader_that_goes_ends_it(instance):
    result = run("sh", "-c", f"'{PERIGEE}' capture @{instance.name}:tee - | head -c 10 | wc -c")
    assert result.stdout.strip() == "10"
    assert instance.read()


def test_filter_rate_and_duration(instance, tmp_path):
    path = tmp_path / "f.pcapng"
    begun = time.monotonic()
    said = perigee("capture", "-f", "ether[0] == 0", "--duration", "300ms",
                   f"@{instance.name}:tee", path).stdout
    assert time.monotonic() - begun >= 0.3 and "capture: 0 packets" in said
    said = perigee("capture", "--rate", "10", "--duration", "500ms",
                   f"@{instance.name}:tee", path).stdout
    assert "over the rate limit" in said and 10 <= len(packets(path)) <= 20


def test_ctrl_c_leaves_a_whole_file(instance, tmp_path):
    path = tmp_path / "c.pcapng"
    command = ["capture", f"@{instance.name}:source", path]
    with running(PERIGEE, *command) as capture:
        wait_until(lambda: path.exists() and path.stat().st_size > 5000, "packets")
        assert capture.interrupt() == 0
    assert f"{len(packets(path)):,} packets written" in capture.said
    assert "the process has" not in capture.said  # it was asked to stop, and said what is lost


def test_killed_or_stopped_it_leaves_the_graph_alone(instance, tmp_path):
    path = tmp_path / "k.pcapng"
    with running(PERIGEE, "capture", f"@{instance.name}:source", path) as capture:
        wait_until(lambda: path.exists() and path.stat().st_size > 5000, "packets")
        capture.send(signal.SIGSTOP)  # it reads nothing any more
        time.sleep(1)
        assert Client(path_of(instance.pid)).ask(do="info")["answer"]
        capture.send(signal.SIGKILL)
        capture.send(signal.SIGCONT)
        capture.finish()
    assert Client(path_of(instance.pid)).ask(do="stop") == {"answer": {"stopped": 0}}
    assert instance.read()


def test_one_that_reads_nothing_is_told_what_was_lost(instance):
    client = Client(path_of(instance.pid))
    client.send(do="capture", app="source")
    time.sleep(5)
    client.send(do="stop")
    data = client.lines.read()
    # 16 MB are kept, and more comes until the client has taken those; a slow machine
    # doesn't have as much to tell.
    assert b"lost" in data or len(data) < 24e6
    assert instance.read()


def test_a_full_disk(instance):
    result = perigee("capture", "--limit", "5", f"@{instance.name}:tee", "/dev/full")
    assert result.returncode == 1
    assert "capture: 0 packets written to /dev/full" in result.stdout
    assert "can't write /dev/full: No space left on device" in result.stderr


def test_on_other_cpus(tmp_path):
    more = 'for _, name in ipairs{"tee", "last", "sink"} do config.cpu(c, name, 1) end'
    with graph(tmp_path, f"captured-{os.getpid()}", more) as process:
        for what in "last", "source":
            path = tmp_path / f"{what}.pcapng"
            perigee("capture", "--limit", "50", f"@{process.name}:{what}", path)
            assert len(packets(path)) == 50
        assert process.interrupt() == 0


def test_last_words_that_never_come(tmp_path):
    """They are waited for, asleep."""
    path = tmp_path / "s.pcapng"
    with graph(tmp_path, f"stopped-{os.getpid()}") as process:
        with running(PERIGEE, "capture", "-f", "ether[0] == 0", "--duration", "2s",
                     f"@{process.pid}:tee", path) as capture:
            wait_until(path.exists, "the file")
            process.send(signal.SIGSTOP)
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw
            status = capture.finish()
        process.send(signal.SIGCONT)
        assert "the process hasn't reported within 10 s what was lost" in capture.said, status
        assert status == 0
        slept = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before
        assert slept > 40, f"{slept} times, of 120: {capture.said}"


def test_the_end_of_the_process_is_told(tmp_path):
    path = tmp_path / "e.pcapng"
    with graph(tmp_path, f"ending-{os.getpid()}") as process:
        with running(PERIGEE, "capture", f"@{process.name}:tee", path) as capture:
            wait_until(lambda: path.exists() and path.stat().st_size > 2000, "packets")
            process.interrupt()
            assert capture.finish() == 0
    assert len(packets(path)) > 10


REFUSED = [
    (["@{}:hafl", "x"], "there is no app 'hafl'; is 'half' meant?"),
    (["@{}:half.output -> x.input", "x"], "there is no link 'half.output -> x.input'"),
    (["@{}", "x"], "@INSTANCE:LINK, @INSTANCE:APP or @INSTANCE:dropped"),
    (["@nobody:half", "x"], "there is no running instance 'nobody'"),
    (["--filter", "no such", "@{}:half", "x"], "'no such' is no packet filter"),
    (["--rate", "5", "null", "x"], "--rate is for @INSTANCE:WHAT"),
    (["--filter", "no such", "null", "x"], "'no such' is no packet filter"),
]


@pytest.mark.parametrize("args, sentence", REFUSED)
def test_what_is_wrong_is_told(instance, tmp_path, args, sentence):
    result = perigee("capture", *(arg.format(instance.name) for arg in args), cwd=tmp_path)
    assert result.returncode == 2 and sentence in result.stderr
    assert list(tmp_path.iterdir()) == []
