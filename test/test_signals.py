# SPDX-License-Identifier: Apache-2.0
"""A signal ends every program that runs for long, with its report and status 0."""

import signal
import time

import pytest

from helpers.capture import save
from helpers.command import PERIGEE, running
from helpers.report import account

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


def test_sigterm_alone_and_sighup(tmp_path):
    for number in signal.SIGTERM, signal.SIGHUP:
        with running(PERIGEE, "echo", "null") as program:
            program.wait_for_engine()
            assert program.interrupt(number) == 0, program.said
        assert account(program.said)["received"] > 0


STUCK = """
local Stuck = {new = function() return {pull = function() while true do end end} end}
local c = config.new()
config.app(c, "stuck", Stuck)
engine.configure(c)
engine.main()
"""


def test_a_program_that_does_not_end_can_be_killed_later(tmp_path):
    script = tmp_path / "stuck.lua"
    script.write_text(STUCK)
    with running(PERIGEE, "run", script) as program:
        program.wait_for_engine()
        program.send(signal.SIGINT)
        time.sleep(0.3)
        program.send(signal.SIGINT)
        assert program.runs_for(1), program.said
        assert program.interrupt(signal.SIGINT) == -signal.SIGINT


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
