# SPDX-License-Identifier: Apache-2.0
"""Perigee as a service manager runs it: what it tells that, what it says on stderr, how
it stops; as a user with few rights, and without a place to write to."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import tempfile

import pytest

from helpers import unit_filter
from helpers.command import PERIGEE, ROOT, perigee, run, running, tool, wait_until
from helpers.report import account

UNIT = ROOT / "packaging" / "systemd" / "perigee@.service"

GRAPH = """\
local basic = require("apps.basic.basic_apps")
local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> sink.input")
engine.configure(c)
"""


class Manager:
    """What a service manager hears."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path) if isinstance(path, os.PathLike) else path)
        self.socket.setblocking(False)
        self.heard = []

    def listen(self):
        try:
            while True:
                self.heard += self.socket.recv(4096).decode().split("\n")
        except BlockingIOError:
            return self.heard

    def wait_for(self, line, process):
        def heard():
            assert process.read(), process.said
            return line in self.listen()
        wait_until(heard, f"{line}; heard {self.heard}")


@pytest.fixture
def manager(tmp_path):
    manager = Manager(tmp_path / "notify")
    yield manager
    manager.socket.close()


def environment(**more):
    return {**os.environ, **more}


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


# Stopping -----------------------------------------------------------------------


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


# What it says -----------------------------------------------------------------------


def test_logs_are_json(tmp_path):
    path = tmp_path / "a\"b.lua"
    path.write_text(GRAPH + 'engine.main{speed = 1, duration = 0, no_report = true}\n'
                    'error("a \\"word\\"\\nand \\1 more")')
    result = perigee("--log-format", "json", "--eal", "--no-huge", "run", path)
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert [line["level"] for line in lines] == ["warning", "error"]
    assert 'a "word"\nand \1 more' in lines[1]["message"]
    for line in lines:
        assert set(line) == {"time", "level", "pid", "message"}
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", line["time"])


@pytest.mark.fast
def test_logs_are_timed_and_have_levels():
    result = perigee("--log-format=timed", "echo", "pcap:rx=/none")
    assert re.fullmatch(r"\S+Z error: .*'/none'.*\n", result.stderr), result.stderr
    result = perigee("echo", "pcap:rx=/none", "--log-format", "journal")
    assert re.fullmatch(r"<3>app .*'/none'.*\n", result.stderr), result.stderr
    result = perigee("--log-format", "xml", "echo")
    assert (result.returncode, result.stderr) == (
        2, "perigee: --log-format xml: give one of journal, json, text, timed\n")


def test_levels_leave_out(tmp_path):
    path = tmp_path / "a.lua"
    path.write_text(GRAPH + "engine.main{speed = 1, duration = 0, no_report = true}")
    assert "'speed'" in perigee("run", path, "--log-level", "warning").stderr
    assert perigee("run", path, "--log-level", "error").stderr == ""


def test_the_journal_gets_levels(tmp_path):
    """As systemd does it: $JOURNAL_STREAM tells which file is the journal's."""
    with open(tmp_path / "journal", "w+") as journal:
        found = os.fstat(journal.fileno())
        for inode, wanted in (found.st_ino, "<3>app"), (found.st_ino + 1, "perigee: app"):
            journal.seek(0)
            journal.truncate()
            run(PERIGEE, "echo", "pcap:rx=/none", capture_output=False, stderr=journal,
                env=environment(JOURNAL_STREAM=f"{found.st_dev}:{inode}"))
            journal.seek(0)
            assert journal.read().startswith(wanted)


# Rights -----------------------------------------------------------------------------


SYSTEMD = UNIT.parent


def files_of(drop_ins):
    return [UNIT, *(SYSTEMD / f"{name}.conf" for name in drop_ins)]


def words_of(files, name):
    """The words of the unit's and its drop-ins' lines NAME=..."""
    return [word for words in unit_filter.values(files, name) for word in words]


@pytest.fixture
def folder():
    """One that other users can enter."""
    path = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path)


PORTS = {
    "packet": ([], ["echo", "packet:veth0"]),
    "packet-down": (["interface"], ["echo", "packet:veth2"]),
    "tap": (["tap"], ["echo", "tap:tap7"]),
    "xdp": (["xdp"], ["echo", "xdp:veth0"]),
    "memif": ([], ["echo", "memif:RUN/m.sock,role=server"]),
    "vhost": ([], ["echo", "vhost:RUN/v.sock"]),
    "null": ([], ["echo", "null"]),
    "click": ([], ["click", "-u", "RUN/c.sock", "-e",
                   "FromDPDKDevice(packet:veth0) -> ToDPDKDevice(packet:veth0)"]),
    "metrics": ([], ["--metrics", "9100", "echo", "packet:veth0"]),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="wants root, to mount and to give up rights")
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze names calls")
@pytest.mark.parametrize("kind", PORTS)
def test_with_the_rights_of_the_unit(folder, readable, kind):
    """As another user with the capabilities, calls and address families of the unit and
    the drop-ins of the port's kind, a root that is read-only, and nothing to write to but
    a folder of its own."""
    drop_ins, words = PORTS[kind]
    files = files_of(drop_ins)
    capabilities = ",".join("+" + name.removeprefix("CAP_").lower() for name in
                            words_of(files, "AmbientCapabilities"))
    if kind == "xdp":  # in the place of LimitMEMLOCK, which root can't set everywhere
        capabilities += ",+ipc_lock"
    manager = Manager(folder / "notify")
    os.chmod(manager.path, 0o777)
    runtime = folder / "run"
    runtime.mkdir(0o700)
    os.chown(runtime, 65534, 65534)
    filtering = folder / "unit_filter.py"
    shutil.copy(unit_filter.__file__, filtering)
    for path in files:
        shutil.copy(path, folder / path.name)
    script = f"""
set -e
ip link set lo up
ip link add veth0 type veth peer veth1
ip link add veth2 type veth peer veth3
for name in veth0 veth1 veth3; do ip link set $name up; done
mount --make-rprivate /
mount --bind {runtime} {runtime}
for place in / /tmp /run /dev/shm; do mount -o remount,bind,ro $place 2>&- || :; done
exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,{capabilities} \
  --ambient-caps=-all,{capabilities} --bounding-set=-all,{capabilities} --no-new-privs \
  /usr/bin/python3 {filtering} {",".join(str(folder / path.name) for path in files)} "$@"
"""
    words = [word.replace("RUN", str(runtime)) for word in words]
    with running(tool("unshare"), "--net", "--mount", "sh", "-c", script, "sh", readable,
                 "--group", "nogroup", *words,
                 env=environment(NOTIFY_SOCKET=str(manager.path), HOME="/none",
                                 XDG_RUNTIME_DIR=str(runtime),
                                 SNABB_SHM_ROOT=str(runtime))) as process:
        manager.wait_for("READY=1", process)
        status = open(f"/proc/{process.pid}/status").read()
        assert re.search(r"^Uid:\t65534\t", status, re.M)
        assert re.search(r"^Seccomp:\t2$", status, re.M)
        if kind == "metrics":
            def answers():
                assert process.read(), process.said
                return "perigee_" in run(tool("nsenter"), "--net", "--target",
                                         str(process.pid), "curl", "-sf",
                                         "http://127.0.0.1:9100/metrics").stdout
            wait_until(answers, "metrics")
        assert process.interrupt(signal.SIGTERM) == 0, process.said
        if kind != "click":
            account(process.said)
        assert "not permitted" not in process.said


EXPOSURE = {"": 2.0, "interface": 2.0, "network": 2.0, "card": 2.0, "tap": 2.2, "xdp": 2.3}


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")
@pytest.mark.parametrize("drop_in", EXPOSURE)
def test_what_the_unit_exposes(tmp_path, drop_in):
    """By systemd's own measure: 4.5 without a filter, 9.6 without any of this."""
    unit = tmp_path / "perigee@x.service"
    files = files_of([drop_in] if drop_in else [])
    unit.write_text("\n".join(path.read_text() for path in files))
    result = run("systemd-analyze", "security", "--offline=true", "--no-pager", unit)
    if "Unknown" in result.stderr or "unrecognized" in result.stderr:
        pytest.skip("systemd-analyze reads no files here (it does from 250 on)")
    level = re.search(r"Overall exposure level .*: ([\d.]+)", result.stdout)
    assert level and float(level[1]) <= EXPOSURE[drop_in], result


def test_systemd_finds_nothing_wrong(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("there is no systemd-analyze here")
    text = UNIT.read_text().replace("/usr/bin/perigee", str(PERIGEE)).replace(
        "Group=perigee", "Group=root").replace(
        "User=perigee-%i\nGroup", "Group")
    unit = tmp_path / "perigee@x.service"
    unit.write_text(text)
    result = run("systemd-analyze", "verify", "--man=no", unit)
    assert str(unit) not in result.stderr and "perigee" not in result.stderr, \
        result.stderr
