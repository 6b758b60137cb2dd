# SPDX-License-Identifier: Apache-2.0
"""A signal ends every program that runs for long, with its report and status 0."""

import os
import pty
import re
import signal
import subprocess
import termios
import time

import pytest

from helpers.capture import save
from helpers.command import PERIGEE, catches, running, wait_until
from helpers.report import account

MEMORY = ["--eal", "--no-huge"]
PACKETS = [bytes([n]) * 100 for n in range(50)]

PROGRAM = """
local basic = require("apps.basic.basic_apps")
local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> sink.input")
engine.configure(c)
engine.main()
"""


def commands(directory):
    """Programs that run until a signal, and what their report has."""
    file = save(directory / "in.pcap", PACKETS)
    script = directory / "script.lua"
    script.write_text(PROGRAM)
    tree = directory / "tree" / "program" / "forever"
    tree.mkdir(parents=True)
    (tree / "forever.lua").write_text(
        "module(..., package.seeall)\nfunction run()\n" + PROGRAM + "end\n")
    return {
        "echo": (["echo", "null", 5], "packets: received"),
        "echo of a loop": (["echo", f"pcap:rx={file},loop=1", 1], "packets: received"),
        "capture": (["capture", "null", "/dev/null"], "packets received"),
        "replay": (["replay", "--loop", 0, "--rate", "1kpps", file, "null"],
                   "replay: "),
        "synth": (["packetblaster", "synth", "null"], "packets"),
        "blaster": (["packetblaster", "replay", file, "null"], "packets"),
        "script": (["run", script], "packets: received"),
        "snsh": (["snsh", "-e", PROGRAM], "packets: received"),
        "tree": (["-p", directory / "tree", "forever"], "packets: received"),
    }


NAMES = ["echo", "echo of a loop", "capture", "replay", "synth", "blaster", "script",
         "snsh", "tree"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM, signal.SIGINT]],
                         ids=["one", "two"])
def test_it_ends_with_its_report(tmp_path, name, signals):
    args, expected = commands(tmp_path)[name]
    with running(PERIGEE, *args) as program:
        program.wait_for_engine()
        assert program.runs_for(0.2), program.said
        program.send(signals[0])
        for number in signals[1:]:
            time.sleep(0.002)
            program.send(number)
        assert program.finish(timeout=10) == 0, program.said
    assert expected in program.said
    if "packets: " in expected:
        account(program.said)
    assert "traceback" not in program.said


def test_generate_ends_while_it_waits_for_a_peer(tmp_path):
    socket = tmp_path / "socket"
    with running(PERIGEE, *MEMORY, "generate", "--receive", f"vhost:{socket}") as program:
        wait_until(lambda: program.read() and socket.exists(), "the socket")
        assert program.runs_for(0.5), program.said
        assert program.interrupt() == 0, program.said
    assert "received: 0 packets" in program.said


def heed_all():
    """In a child: as a shell with job control starts it."""
    for number in signal.SIGINT, signal.SIGHUP:
        signal.signal(number, signal.SIG_DFL)


def test_sigterm_alone_and_sighup(tmp_path):
    for number in signal.SIGTERM, signal.SIGHUP:
        with running(PERIGEE, "echo", "null", preexec_fn=heed_all) as program:
            program.wait_for_engine()
            assert program.interrupt(number) == 0, program.said
        assert account(program.said)["received"] > 0


def test_nohup_lets_it_live_on(tmp_path):
    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup(1) does
    script = tmp_path / "script.lua"
    script.write_text(WITHOUT_ENGINE % "require('posix.unistd').sleep(60)")
    for words in ["echo", "null"], ["run", script]:
        with running(PERIGEE, *words, preexec_fn=ignore) as program:
            if words[0] == "echo":
                program.wait_for_engine()
            else:
                program.wait_for("here")
            program.send(signal.SIGHUP)
            assert program.runs_for(0.5), program.said
            assert not catches(program.pid, signal.SIGHUP)


STUCK = """
local Stuck = {new = function() return {pull = function() while true do end end} end}
local c = config.new()
config.app(c, "stuck", Stuck)
engine.configure(c)
engine.main()
"""


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_a_program_at_once(tmp_path, second):
    script = tmp_path / "stuck.lua"
    script.write_text(STUCK)
    with running(PERIGEE, "--watchdog", "off", "run", script) as program:
        program.wait_for_engine()
        program.send(signal.SIGINT)
        assert program.runs_for(1), program.said
        assert program.interrupt(second) == 128 + second
    name = signal.Signals(second).name
    assert re.fullmatch(rf"perigee: {name} came again, so it ends at once; at work was "
                        r"app 'stuck': in pull\(\)( at \S+stuck.lua:2)?\n", program.said)


def test_the_second_signal_of_a_workers_program_names_its_app(tmp_path):
    (tmp_path / "stuck.lua").write_text(
        "return {new = function() return {pull = function() while true do end end} end}")
    script = tmp_path / "script.lua"
    script.write_text(f"""
package.path = "{tmp_path}/?.lua;" .. package.path
local c = config.new()
config.app(c, "stuck", require("stuck"))
config.cpu(c, "stuck", 0)
engine.configure(c)
engine.main()
""")
    with running(PERIGEE, *MEMORY, "run", script) as program:
        program.wait_for_engine()
        program.send(signal.SIGINT)
        assert program.runs_for(1), program.said
        assert program.interrupt() == 128 + signal.SIGINT
    assert "SIGINT came again, so it ends at once; at work was app 'stuck': in pull() " \
        "on CPU 0" in program.said


AFTER = """
local c = config.new()
local function stop() print("stopped") end
config.app(c, "last", {new = function () return {stop = stop} end})
engine.configure(c)
engine.main{duration = 0, no_report = true}
io.write("ready\\n")
io.flush()
"""


def end_after_main(tmp_path, code):
    """What a program says, with `code` behind engine.main, that SIGTERM ends."""
    script = tmp_path / "after.lua"
    script.write_text(AFTER + code)
    with running(PERIGEE, "run", script) as program:
        program.wait_for("ready\n")
        assert program.runs_for(0.3), program.said  # it may be compiled
        assert program.interrupt(signal.SIGTERM) == 128 + signal.SIGTERM
    return program.said


def test_a_signal_behind_the_engine_ends_the_program_orderly(tmp_path):
    said = end_after_main(tmp_path, "jit.off() while true do io.write('') end")
    assert said == "ready\nperigee: ended by SIGTERM\nstopped\n" or \
        said == "ready\nstopped\nperigee: ended by SIGTERM\n", said


@pytest.mark.parametrize("code", [
    "while true do end",
    "jit.off() while true do pcall(function() while true do end end) end"],
    ids=["compiled", "protected"])
def test_it_ends_it_at_once_if_it_does_not_listen(tmp_path, code):
    said = end_after_main(tmp_path, code)
    assert "perigee: SIGTERM came, and it doesn't stop, so it ends at once" in said


def test_the_terminal_is_as_before(tmp_path):
    """Also when a program ends at once while `top` shows its page."""
    script = tmp_path / "script.lua"
    script.write_text("""
local C = require("core.native")
C.pg_catch_signals()
require("program.top.terminal").open()
io.write("ready\\n")
io.flush()
while true do end
""")
    controller, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)
    process = subprocess.Popen([PERIGEE, "run", script], stdin=terminal, stdout=terminal,
                               stderr=subprocess.PIPE)
    said = b""
    while b"ready" not in said:
        said += os.read(controller, 1000)
    assert termios.tcgetattr(terminal) != before
    process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 128 + signal.SIGTERM
    process.stderr.close()
    assert termios.tcgetattr(terminal) == before
    assert os.read(controller, 1000).endswith(b"\033[?25h\033[?1049l")
    os.close(controller)
    os.close(terminal)


SEVERAL = PROGRAM + 'print("went on")\nengine.main()\nprint("and on")\n'


def test_a_program_with_more_runs_is_ended_by_one_signal(tmp_path):
    script = tmp_path / "several.lua"
    script.write_text(SEVERAL)
    with running(PERIGEE, "run", script) as program:
        program.wait_for_engine()
        assert program.interrupt() == 0
    assert program.said.count("packets: ") == 1
    assert program.said.endswith("went on\n")


def test_it_ends_when_nobody_reads_its_output():
    """As in `perigee capture ... | head`: it doesn't run for ever."""
    with running("sh", "-c", f"{PERIGEE} snsh -e "
                 "'packet.allocate() while true do print(1) end' | head -n 1") as shell:
        assert shell.finish(timeout=10) == 0
    assert shell.said == "1\n"


WITHOUT_ENGINE = """
require("core.shm").create("here", "uint64_t")
io.stdout:write("here\\n")
io.stdout:flush()
while true do %s end
"""


@pytest.mark.parametrize("loop", ["require('posix.unistd').sleep(60)", "tostring({})"],
                         ids=["sleeps", "works"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_program_without_an_engine_leaves_nothing_in_shared_memory(loop, number, tmp_path):
    script = tmp_path / "script.lua"
    script.write_text(WITHOUT_ENGINE % loop)
    root = tmp_path / "shm"
    root.mkdir()
    with running(PERIGEE, "run", script, preexec_fn=heed_all,
                 env={**os.environ, "SNABB_SHM_ROOT": str(root)}) as process:
        process.wait_for("here")
        assert (root / str(process.pid)).exists()
        assert process.interrupt(number) == -number  # as any program that has no handler
    assert not (root / str(process.pid)).exists()


TESTS = """
it("is interrupted", function ()
  io.stdout:write("here\\n")
  io.stdout:flush()
  %s
end)
it("comes after it", function () io.stdout:write("goes on\\n") assert(true) end)
"""


@pytest.mark.parametrize("code", ["require('posix.unistd').sleep(60)",
                                  "pcall(function () while true do tostring({}) end end)"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_tests_end_at_a_signal(number, code, tmp_path):
    """busted would take it for a test's error, and go on with the next."""
    (tmp_path / "it_spec.lua").write_text(TESTS % code)
    with running(PERIGEE, "test", f"--outcomes={tmp_path}/outcomes", tmp_path,
                 preexec_fn=heed_all) as process:
        process.wait_for("here")
        assert process.interrupt(number) == -number
    assert "goes on" not in process.said
    assert '"test"' not in (tmp_path / "outcomes").read_text()
