# SPDX-License-Identifier: Apache-2.0
"""Programs that look into other processes: ps, shm, top."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import struct
import termios

import pytest

from helpers.command import PERIGEE, perigee, running, wait_until

NAMED = """
engine.claim_name(%r)
local basic = require("apps.basic.basic_apps")
local Half = {drops = {"not wanted"}}
Half.__index = Half
function Half:new() return setmetatable({n = 0}, Half) end
function Half:process(p)
  self.n = self.n + 1
  if self.n %% 2 == 0 then return nil, 1 end
  return p
end
local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "half", Half)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> half.input")
config.link(c, "half.output -> sink.input")
engine.configure(c)
engine.Hz = 1000
engine.main{duration = 50, no_report = true}
"""


@pytest.fixture
def instance(tmp_path):
    """A running graph: half of what `source` sends, `half` drops by name."""
    name = f"observed-{os.getpid()}"
    script = tmp_path / "graph.lua"
    script.write_text(NAMED % name)
    with running(PERIGEE, "run", script) as process:
        process.name = name
        process.wait_for_engine()
        wait_until(lambda: values(process.pid).get("engine/breaths", 0) > 10, "breaths")
        yield process


def values(pid):
    result = perigee("shm", "--json", pid)
    return json.loads(result.stdout) if result.returncode == 0 else {}


@pytest.mark.fast
def test_ps_lists_it(instance):
    listed = {i["pid"]: i for i in json.loads(perigee("ps", "--json").stdout)}
    mine = listed[instance.pid]
    assert (mine["name"], mine["program"]) == (instance.name, "run graph.lua")
    assert 0 < mine["cpu"] <= mine["uptime"] + 1
    lines = [line for line in perigee("ps").stdout.splitlines()
             if line.split()[0] == str(instance.pid)]
    assert instance.name in lines[0]


def test_ps_names_the_program_behind_options():
    with running(PERIGEE, "--cpus", "0-1", "--packets=8192", "echo", "null") as program:
        program.wait_for_engine()
        listed = {i["pid"]: i for i in json.loads(perigee("ps", "--json").stdout)}
    assert listed[program.pid]["program"] == "echo"


def test_shm_prints_what_is_in_the_files(instance):
    instance.send(19)  # SIGSTOP: the counters stand still
    said = perigee("shm", f"{instance.name}/engine").stdout
    directory = json.loads(perigee("ps", "--json").stdout)
    directory = next(i["directory"] for i in directory if i["pid"] == instance.pid)
    with open(f"{directory}/engine/frees.counter", "rb") as file:
        frees = struct.unpack("<Q", file.read(8))[0]
    assert frees > 0 and f"\nfrees: {frees:,}\n" in said
    assert values(instance.pid)["engine/frees"] == frees


def test_shm_of_what_has_ended(instance):
    assert instance.interrupt() == 0
    result = perigee("shm", instance.pid)
    assert result.returncode == 2
    assert f"there is no running instance '{instance.pid}'" in result.stderr


@pytest.mark.fast
def test_top_prints_rates_and_drops(instance):
    said = perigee("top", "--once", "-i", "200ms", instance.name).stdout
    assert said.startswith(f"{instance.pid} run graph.lua [{instance.name}]  up ")
    assert "\nhalf: not wanted " in said and "the packet path is compiled" in said
    assert all(len(line) <= 80 for line in said.splitlines())


def test_top_agrees_with_the_counters(instance):
    before = values(instance.pid)
    result = perigee("top", "--json", "-i", "300ms", instance.pid)
    after = values(instance.pid)
    [figures] = json.loads(result.stdout)
    links = {link["name"]: link for link in figures["links"]}
    first, second = links["source.output -> half.input"], links["half.output -> sink.input"]
    total = "links/source.output -> half.input/txpackets"
    assert before[total] <= first["packets"] <= after[total]
    # Counters are read one after the other, and a busy machine may wait in between.
    assert first["pps"] > second["pps"] > 0
    [drop] = figures["drops"]
    assert drop["name"] == "half: not wanted"
    assert 0 < drop["pps"] < 2 * second["pps"]
    assert figures["jit"]["problems"] == 0


def test_top_lists_several(instance, tmp_path):
    script = tmp_path / "graph2.lua"
    script.write_text(NAMED % f"{instance.name}-b")
    with running(PERIGEE, "run", script) as other:
        other.wait_for_engine()
        said = perigee("top", "-1", "-i", "100ms").stdout
    for process, name in (instance, instance.name), (other, f"{instance.name}-b"):
        line, = (x for x in said.splitlines() if x.startswith(f"{process.pid} run graph"))
        assert f"{name[-8:]}]" in line  # the middle is left out


@contextlib.contextmanager
def on_terminal(*args):
    """Perigee on a pseudo-terminal of 80 x 24; the terminal's end of it."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(PERIGEE, [str(word) for word in (PERIGEE, *args)])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    try:
        yield pid, terminal
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        os.close(terminal)


def read_until(terminal, text):
    said = b""

    def found():
        nonlocal said
        with contextlib.suppress(OSError):  # at its end
            said += os.read(terminal, 65536)
        return text in said
    wait_until(found, f"{text!r} on the terminal")
    return said


def test_top_on_a_terminal(instance):
    with on_terminal("top", "-i", "50ms", instance.name) as (pid, terminal):
        said = read_until(terminal, b"half: not wanted")
        assert said.startswith(b"\x1b[?1049h")  # the other screen
        page = said.split(b"\x1b[H")[1]
        assert page.count(b"\r\n") == 23
        assert not termios.tcgetattr(terminal)[3] & termios.ECHO
        os.write(terminal, b" ")
        read_until(terminal, b"PAUSED")
        os.write(terminal, b"\x1b[B\x1b[A")
        os.write(terminal, b"q")
        read_until(terminal, b"\x1b[?1049l")  # back
        assert os.waitpid(pid, 0)[1] == 0
        assert termios.tcgetattr(terminal)[3] & termios.ECHO


def test_top_filters_sorts_and_helps(instance):
    with on_terminal("top", "-i", "50ms", instance.name) as (pid, terminal):
        said = read_until(terminal, b"history ")
        assert b"by rate" in read_until(terminal, b"by rate")
        assert said.index(b"DROPPED") < said.index(b"APPS")
        os.write(terminal, b"s")
        read_until(terminal, b"by name")
        os.write(terminal, b"s")
        read_until(terminal, b"by drops")
        os.write(terminal, b"/NOTqq\x7f\x7f ")  # a key of its own while no text is typed
        said = read_until(terminal, b"filter: NOT _")
        os.write(terminal, b"\r")
        page = read_until(terminal, b"filter: NOT   h help").split(b"\x1b[H")[-1]
        assert b"half: not wanted" in page and b"LINKS" not in page
        os.write(terminal, b"\x1b")
        read_until(terminal, b"LINKS")
        os.write(terminal, b"?")
        read_until(terminal, b"list all instances")
        os.write(terminal, b"x")
        read_until(terminal, b"LINKS")
        os.write(terminal, b"/")
        os.write(terminal, b"\x1b")
        os.write(terminal, b"q")
        assert os.waitpid(pid, 0)[1] == 0


def test_top_ends_with_its_instance(instance):
    with on_terminal("top", "-i", "50ms", instance.name) as (pid, terminal):
        read_until(terminal, b"half: not wanted")
        instance.interrupt()
        read_until(terminal, b"there is no running instance")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2


WORKERS = """
local basic = require("apps.basic.basic_apps")
local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> sink.input")
config.cpu(c, "sink", %d)
engine.configure(c)
engine.Hz = 1000
engine.main{duration = 50, no_report = true}
"""


def test_top_shows_workers(tmp_path):
    cpu = max(os.sched_getaffinity(0))
    script = tmp_path / "workers.lua"
    script.write_text(WORKERS % cpu)
    with running(PERIGEE, "run", script) as process:
        process.wait_for_engine()
        wait_until(lambda: values(process.pid).get(f"workers/{cpu}/engine/frees", 0) > 0,
                   "packets in the worker")
        before = values(process.pid)[f"workers/{cpu}/engine/frees"]
        [figures] = json.loads(perigee("top", "--json", "-i", "1s", process.pid).stdout)
        wait_until(lambda: values(process.pid)[f"workers/{cpu}/engine/frees"] > before,
                   "more packets")
        after = values(process.pid)[f"workers/{cpu}/engine/frees"]
    [worker] = figures["workers"]
    assert worker["name"] == f"cpu {cpu}"
    # In the second that `top` looks no more pass than in all of this.
    assert 0 < worker["pps"] <= after - before
    assert {app["name"] for app in figures["apps"]} >= {"source", "sink"}


SNABB = pathlib.Path(os.environ.get("SNABB", "")) / "src/snabb"


@pytest.mark.skipif(not SNABB.is_file(), reason="SNABB=DIR names no built checkout of Snabb")
def test_processes_of_snabb_can_be_looked_at(tmp_path):
    env = {**os.environ, "SNABB_SHM_ROOT": str(tmp_path)}
    with running(SNABB, "snabbmark", "basic1", "1e10", env=env):
        def found():
            return json.loads(perigee("ps", "--json", env=env).stdout)
        wait_until(found, "Snabb's process")
        [instance] = found()
        assert instance["program"] == "snabbmark"

        def counters():
            said = perigee("shm", "snabbmark/engine", env=env).stdout
            return "latency: " in said and said
        said = wait_until(counters, "its counters")
        assert "packets: " in said and "/1000000\n" in said  # its free list
        [figures] = json.loads(perigee("top", "--json", "-i", "300ms", "snabbmark",
                                       env=env).stdout)
        os.kill(instance["pid"], 9)
    links = {link["name"]: link["pps"] for link in figures["links"]}
    assert links["Tee.tx1 -> Sink.rx1"] == pytest.approx(links["Source.tx -> Tee.rx"],
                                                         rel=0.2)
    assert figures["engine"]["pps"] == pytest.approx(2 * links["Source.tx -> Tee.rx"],
                                                     rel=0.2)
