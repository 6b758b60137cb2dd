# SPDX-License-Identifier: Apache-2.0
"""Watching scripts of libmoon's: `perigee doctor`, `top` and `ps`."""

import json
import os
import pathlib
import re

import pytest

from helpers.command import PERIGEE, ROOT, perigee, run, running, wait_until
from helpers.doctor import assert_clean

LOOPS = ROOT / "test/moongen/loops.lua"


def line_of(text):
    """The number of the line of the script that has the text."""
    lines = LOOPS.read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


def command(task, seconds=3):
    return [PERIGEE, "doctor", "--duration", seconds, "moongen", "--port", "0=null",
            LOOPS, task]


def test_doctor_finds_a_compiled_loop_clean():
    assert_clean(run(*command("clean")))


def test_doctor_names_line_and_task_of_what_is_not_compiled():
    result = run(*command("closures"))
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"loops.lua:{line_of('-- to blame')}: NYI: bytecode FNEW\n" in result.stdout
    assert re.search(r"\n  task: closures\n", result.stdout)
    assert "remedy: a function is made here" in result.stdout
    assert "The packet path is not clean" in result.stdout


def test_doctor_names_the_script_s_line_behind_a_library_s():
    result = run(*command("library"))
    assert result.returncode == 1, result.stdout + result.stderr
    line = line_of("calls what is to blame")
    assert re.search(r"\n/.*/moongen/moongen/\S+\.lua:\d+: NYI", result.stdout)
    assert re.search(rf"task: library called from: (\S+, )*\S*loops\.lua:{line}\b",
                     " ".join(result.stdout.split())), result.stdout


def test_doctor_tells_of_tasks_that_go_on():
    result = run(*command("deaf", 0.5))
    assert result.returncode == 1, result.stdout + result.stderr
    assert "nothing is known of them: deaf." in " ".join(result.stdout.split())
    assert "clean" not in result.stdout


def test_doctor_waits_for_a_task_that_takes_long_to_load(tmp_path):
    script = tmp_path / "slow.lua"
    script.write_text("""
        local lm = require "libmoon"
        lm.sleepMillis(1500)
        function master()
          lm.startTask("closures")
          lm.waitForTasks()
        end
        function closures()
          local last
          while lm.running() do
            for i = 1, 100 do last = function () return i end end -- line 11
          end
          return last ~= nil
        end""")
    result = run(PERIGEE, "doctor", "--duration", 0.5, "moongen", "--port", "0=null", script)
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"{script}:11: NYI: bytecode FNEW\n" in result.stdout, result.stdout


def test_doctor_interrupted():
    with running(*command("clean", 50)) as process:
        wait_until(lambda: packets(process), "packets")
        status = process.interrupt()
        # So early, on a busy machine, not all may be compiled yet.
        assert status == (1 if "is not clean" in process.said else 130), process.said
        assert re.search(r"interrupted by SIGINT after [\d.]+ of 50 seconds", process.said)
        assert "is clean" not in process.said


def values(process):
    """What the process shows in shared memory."""
    assert process.read(), process.said
    result = perigee("shm", "--json", process.pid)
    return json.loads(result.stdout) if result.returncode == 0 else {}


def packets(process):
    return values(process).get("devices/0/tx/1/packets", 0)


def test_top_and_ps_show_tasks_devices_and_queues():
    with running(PERIGEE, "moongen", "--port", "0=null", LOOPS, "clean") as process:
        before = wait_until(lambda: packets(process), "packets")
        [figures] = json.loads(perigee("top", "--json", "-i", "300ms", process.pid).stdout)
        said = perigee("top", "--once", "-i", "300ms", process.pid).stdout
        after = packets(process)
        listed = perigee("ps").stdout
        [instance] = [i for i in json.loads(perigee("ps", "--json").stdout)
                      if i["pid"] == process.pid]
        assert process.interrupt() == 0, process.said
    [task] = figures["tasks"]  # the first has ended
    assert task["name"] == "2 clean" and task["load"] > 0
    queues = {queue["name"]: queue for queue in figures["queues"]}
    assert set(queues) == {"0 rx 0", "0 tx 0", "0 tx 1"}
    assert before <= queues["0 tx 1"]["packets"] <= after
    assert queues["0 tx 1"]["pps"] > 0 and queues["0 tx 0"]["pps"] == 0
    assert queues["0 tx 0"]["limit"] == pytest.approx(1e8, rel=1e-6)
    assert "limit" not in queues["0 tx 1"]
    [device] = figures["devices"]
    assert (device["name"], device["output"]) == ("0 null", queues["0 tx 1"]["pps"])
    assert figures["engine"]["pps"] == device["output"]
    assert f"{process.pid} moongen " in said and "loops.lua" in said
    for row in "TASKS", "2 clean", "DEVICES", "0 null", "QUEUES", "0 tx 1":
        assert re.search(rf"^{row} +\S", said, re.M), said
    assert all(len(line) <= 80 for line in said.splitlines()), said
    assert "task 2 clean\n" in listed and instance["tasks"] == ["2 clean"]


@pytest.mark.parametrize("program", [["trace"], ["capture"]])
def test_who_looks_for_a_graph_is_told_that_there_are_tasks(program, tmp_path):
    with running(PERIGEE, "moongen", "--port", "0=null", LOOPS, "clean") as process:
        wait_until(lambda: packets(process), "packets")
        place = [f"@{process.pid}:dropped", tmp_path / "x.pcap"] if program == ["capture"] \
            else [process.pid]
        result = perigee(*program, *place)
    assert result.returncode == 1
    assert "runs a libmoon script" in result.stderr and "perigee top" in result.stderr


def threads(pid):
    """Of a process: name and CPUs of each thread that hasn't ended meanwhile."""
    for path in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            yield (path / "comm").read_text().strip(), os.sched_getaffinity(int(path.name))
        except OSError:
            pass


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="takes two CPUs")
def test_who_wakes_often_keeps_off_the_cpus_of_tasks():
    """The main thread and the tender are elsewhere than the task that sends."""
    script = ROOT / "examples" / "moongen" / "rate.lua"
    with running(PERIGEE, "moongen", "--port", "0=null", script, 0, "-m", 0.001, "-t", 600,
                 "-f", "nil") as process:
        def apart():
            assert process.read(), process.said
            of_main = os.sched_getaffinity(process.pid)
            found = list(threads(process.pid))
            return ("tender", of_main) in found and any(
                len(cpus) == 1 and not cpus & of_main for _, cpus in found)

        wait_until(apart, "CPUs of their own")
        assert process.interrupt() == 0
