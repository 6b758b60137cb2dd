# SPDX-License-Identifier: Apache-2.0
"""Perigee as a service manager runs it: what it tells that, and how it stops."""

import os
import signal

import pytest

from helpers.command import PERIGEE, perigee, running, wait_until
from helpers.report import account
from helpers.service import GRAPH, Manager, environment


@pytest.fixture
def manager(tmp_path):
    manager = Manager(tmp_path / "notify")
    yield manager
    manager.socket.close()


def test_it_is_told_what_happens(manager, tmp_path):
    path = tmp_path / "graph.lua"
    path.write_text(GRAPH + """
assert(not os.getenv("NOTIFY_SOCKET"))
engine.main{no_report = true, on_signal = {HUP = function ()
  io.stderr:write("read again\\n")
end}}""")
    with running(PERIGEE, "run", path,
                 env=environment(NOTIFY_SOCKET=str(manager.path),
                                 WATCHDOG_USEC="100000")) as process:
        manager.wait_for("READY=1", process)
        assert "STATUS=2 apps and 1 links" in manager.heard
        signs = manager.heard.count("WATCHDOG=1")
        wait_until(lambda: manager.listen().count("WATCHDOG=1") >= signs + 3 and
                   process.read(), "signs of life")
        process.send(signal.SIGHUP)
        process.wait_for("read again")
        manager.wait_for("RELOADING=1", process)
        assert any(line.startswith("MONOTONIC_USEC=") for line in manager.heard)
        wait_until(lambda: manager.listen().count("READY=1") == 2, "it is ready again")
        assert process.interrupt(signal.SIGTERM) == 0, process.said
    assert "STOPPING=1" in manager.listen()


def test_an_abstract_socket(tmp_path):
    name = f"perigee-test-{os.getpid()}"
    manager = Manager("\0" + name)
    path = tmp_path / "graph.lua"
    path.write_text(GRAPH + "engine.main{no_report = true}")
    with running(PERIGEE, "run", path,
                 env=environment(NOTIFY_SOCKET="@" + name)) as process:
        manager.wait_for("READY=1", process)
        assert "WATCHDOG=1" not in manager.heard
    manager.socket.close()


def test_no_sign_of_life_for_another_process(manager, tmp_path):
    path = tmp_path / "graph.lua"
    path.write_text(GRAPH + "engine.main{duration = 0.3, no_report = true}")
    result = perigee("run", path, env=environment(
        NOTIFY_SOCKET=str(manager.path), WATCHDOG_USEC="20000", WATCHDOG_PID="1"))
    assert result.returncode == 0, result.stderr
    assert "READY=1" in manager.listen() and "WATCHDOG=1" not in manager.heard


def test_a_manager_that_has_gone_harms_nothing(tmp_path):
    path = tmp_path / "graph.lua"
    path.write_text(GRAPH + "engine.main{duration = 0.1, no_report = true}")
    for place in tmp_path / "none", "x" * 200:
        result = perigee("run", path, env=environment(NOTIFY_SOCKET=str(place),
                                                      WATCHDOG_USEC="20000"))
        assert (result.returncode, result.stderr) == (0, "")


def test_metrics_of_a_machine_are_a_service(manager, tmp_path):
    with running(PERIGEE, "metrics", "--listen", f"unix:{tmp_path}/m",
                 env=environment(NOTIFY_SOCKET=str(manager.path))) as process:
        manager.wait_for("READY=1", process)
        assert process.interrupt(signal.SIGTERM) == 0


SLOW = """
local Slow = {} -- it passes one packet a push, so that many wait before it
Slow.__index = Slow
function Slow:new() return setmetatable({}, Slow) end
function Slow:push()
  if not link.empty(self.input.input) then
    link.transmit(self.output.output, link.receive(self.input.input))
  end
end
local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "slow", Slow)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> slow.input")
config.link(c, "slow.output -> sink.input")
engine.configure(c)
"""


@pytest.mark.parametrize("options, runs_out", [([], True), (["--drain", "0"], False)])
def test_packets_run_out(tmp_path, options, runs_out):
    path = tmp_path / "slow.lua"
    path.write_text(GRAPH + SLOW + """
io.stderr:write("runs\\n")
engine.main{report = {showpackets = true}}""")
    with running(PERIGEE, *options, "run", path) as process:
        process.wait_for("runs")
        process.wait_for_engine()
        assert process.interrupt(signal.SIGTERM) == 0
        assert (account(process.said)["in links"] == 0) == runs_out, process.said


def test_an_app_that_keeps_what_it_has_delays_little(tmp_path):
    path = tmp_path / "keeps.lua"
    path.write_text(GRAPH + SLOW.replace("if not", "if false and not") + """
io.stderr:write("runs\\n")
engine.main{report = {showpackets = true}}""")
    with running(PERIGEE, "--drain", "60", "run", path) as process:
        process.wait_for("runs")
        process.wait_for_engine()
        assert process.interrupt(signal.SIGTERM) == 0
        assert account(process.said)["in links"] > 0


@pytest.mark.parametrize("text", ["x", "-1", "1y", ""])
def test_a_wrong_limit(text):
    result = perigee("--drain", text, "echo", "null")
    assert result.returncode == 2
    assert result.stderr == \
        f"perigee: --drain {text}: give a time such as 500ms or 2s, or 0\n"
