# SPDX-License-Identifier: Apache-2.0
"""Programs with --sandbox: what they say, and what goes on in it."""

import json

import pytest

from helpers.command import PERIGEE, ROOT, run, running, wait_until
from helpers.memif_echo import exchange
from helpers.memif_peer import connected
from helpers.sandbox import environment, folder_for_all, is_entered


@pytest.fixture
def folder():
    with folder_for_all() as path:
        yield path


def test_what_is_told(folder):
    environ = environment(folder)
    assert run(PERIGEE, "--sandbox", "web", env=environ).stderr == \
        "perigee: web takes no --sandbox: it handles no packets\n"
    assert run(PERIGEE, "--sandbox-path", folder / "no", "echo", "null", env=environ).stderr \
        == f"perigee: --sandbox-path {folder}/no: there is no such file or folder; make it first\n"
    result = run(PERIGEE, "--sandbox", "proto", "eth", env=environ)
    assert result.returncode == 0 and result.stderr == (
        "perigee: --sandbox: no packets flowed, so nothing was kept from this process\n")


def test_files_that_are_named_are_written_at_the_end(folder):
    report = folder / "report.json"
    result = run(PERIGEE, "--sandbox", "echo", "--json", report, "null", "1", "0.1",
                 env=environment(folder))
    assert result.returncode == 0, result
    assert json.loads(report.read_text()), result


OPENS = """
local basic, Port = require("apps.basic.basic_apps"), require("apps.port.port").Port
local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> sink.input")
engine.configure(c)
engine.main{duration = 0.01, no_report = true}
"""


@pytest.mark.parametrize("then, why", [
    ('require("core.lib.files").replace("%s/x", "text")', "can't write {0}/x: Permission denied"),
    ('config.app(c, "p", Port, "pcap:tx=%s/x") engine.configure(c)',
     "can't write {0}/x: Permission denied"),
    ('require("core.worker").start("w", "-- %s")', None)])
def test_errors_name_the_option(folder, then, why):
    script = folder / "script" / "opens.lua"
    script.write_text(OPENS + then % folder)
    result = run(PERIGEE, "--sandbox", "run", script, env=environment(folder))
    assert result.returncode == 1, result
    if why:
        assert result.stderr.endswith(
            why.format(folder) + "; --sandbox lets this process open only files that are "
            "named before: see --sandbox-path in `perigee --help`\n"), result
    else:
        assert "worker 'w': --sandbox lets no process start" in result.stderr, result


def test_a_graph_is_not_read_again(folder):
    graph = folder / "graph.yaml"
    graph.write_text("ports: {a: null}\napps: {t: apps.basic.basic_apps.Tee}\n"
                     "links: [a -> t -> a]\n")
    with running(PERIGEE, "--sandbox", "run", graph, env=environment(folder)) as process:
        process.wait_for_engine()
        wait_until(lambda: process.read() and is_entered(process),
                   lambda: f"the sandbox: {process.said}")
        process.send(1)
        process.wait_for("SIGHUP: nothing is read again, as --sandbox lets no more files be")
        assert process.interrupt() == 0, process.said
    result = run(PERIGEE, "--sandbox", "run", "--watch", graph, env=environment(folder))
    assert (result.returncode, result.stderr) == (2, (
        "perigee: --watch opens files while packets flow, so it can't be with --sandbox\n"))


MOONGEN = """
local mg = require "moongen"
function master()
  mg.startTask("try")
  mg.waitForTasks()
end
function try()
  print("read " .. tostring(io.open("%s/secret")))
  print("ran " .. tostring(os.execute("true")))
end
"""


def test_tasks_of_moongen(folder):
    script = folder / "script" / "tasks.lua"
    script.write_text(MOONGEN % folder)
    result = run(PERIGEE, "--sandbox", "moongen", script, env=environment(folder))
    assert result.returncode == 0 and "read nil\n" in result.stdout, result
    assert "ran 32512" in result.stdout, result


def test_who_looks_in_and_peers_are_served(folder):
    """Capture, trace, metrics and memif's clients come after it has been entered."""
    environ, path = environment(folder), folder / "ports" / "m.sock"
    with running(PERIGEE, "--sandbox", "--metrics", f"unix:{folder}/metrics", "run",
                 ROOT / "test" / "echoes.lua", f"memif:{path},role=server",
                 env=environ) as process:
        process.wait_for("echoing")
        wait_until(lambda: process.read() and is_entered(process),
                   lambda: f"the sandbox: {process.said}")
        for _ in range(2):
            with connected(path) as peer:
                exchange(peer.start(), 10)
        with connected(path) as peer:
            peer.start()
            with running(PERIGEE, "capture", "--limit", "10", f"@{process.pid}:port1",
                         folder / "a.pcapng", env=environ) as capture:
                while capture.read(0.05):
                    exchange(peer, 10)
                assert capture.finish() == 0, capture.said + process.said
        wait_until(lambda: "perigee_" in run(
            "curl", "-s", "--unix-socket", folder / "metrics", "http://x/metrics").stdout,
                   lambda: f"metrics: {process.said}")
        assert process.interrupt() == 0, process.said
    assert not path.exists()
