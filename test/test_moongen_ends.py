# SPDX-License-Identifier: Apache-2.0
"""How scripts of libmoon's end that go on for long, that are killed, or whose disk is
full: nothing of what was captured is lost."""

import pathlib
import re
import signal
import struct
import time

import pytest

from helpers import capture
from helpers.command import PERIGEE, ROOT, run, running, wait_until

SCRIPTS = ROOT / "test/moongen"


def frames(n):
    return [bytes([i % 256]) * (60 + i % 1000) for i in range(n)]


def written(path):
    """The packets that are in the file by now."""
    try:
        return list(capture.load(path))
    except (AssertionError, OSError, struct.error):
        return []


def test_what_was_captured_is_there_after_a_kill(tmp_path):
    """In the script's own file and in the port's, though more packets may come."""
    sent = frames(200)
    capture.save(tmp_path / "in.pcap", sent)
    port = f"pcap:rx={tmp_path}/in.pcap,tx={tmp_path}/tx.pcap"
    with running(PERIGEE, "moongen", "--port", f"0={port}", SCRIPTS / "capture.lua",
                 tmp_path / "own.pcap") as process:
        for name in "own.pcap", "tx.pcap":
            wait_until(lambda name=name: process.read()
                       and len(written(tmp_path / name)) == len(sent), name)
        process.send(signal.SIGKILL)
        assert process.finish() == -signal.SIGKILL
    assert written(tmp_path / "own.pcap") == written(tmp_path / "tx.pcap") == sent


@pytest.mark.parametrize("own, port", [("own.pcap", "null"), ("/dev/null", "tx.pcap")])
def test_a_file_that_can_grow_no_more(tmp_path, own, port):
    """The script ends with a sentence, and the file has whole packets."""
    sent = frames(4000)
    capture.save(tmp_path / "in.pcap", sent)
    sink = "/dev/null" if port == "null" else port
    result = run(PERIGEE, "moongen", "--port", f"0=pcap:rx=in.pcap,tx={sink}",
                 SCRIPTS / "capture.lua", own, "-l", 1_000_000, cwd=tmp_path)
    name = port if own == "/dev/null" else own
    assert result.returncode == 1
    assert re.search(f"can't write {name}.*: File too large", result.stderr)
    got = written(tmp_path / name)
    assert len(got) > 1000 and got == sent[:len(got)]


def test_a_second_signal_ends_a_task_that_does_not_listen():
    with running(PERIGEE, "moongen", "--port", "0=null", SCRIPTS / "loops.lua",
                 "deaf") as process:
        process.wait_for("Device 0")
        wait_until(lambda: process.send(signal.SIGINT) or not process.runs_for(0.5),
                   "the end")
        assert process.finish() == 128 + signal.SIGINT
        assert "SIGINT came again, so it ends at once" in process.said


def all_sleep(pid):
    """Does each of the process's threads sleep (proc(5))?"""
    return all(stat.read_text().rpartition(")")[2].split()[0] == "S"
               for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("how", ["sleepMillis", "sleepMillisIdle", "wait"])
def test_a_signal_ends_a_task_in_a_long_sleep(how, number, tmp_path):
    """And what it does after that goes its way, short sleeps among it."""
    script = tmp_path / "script.lua"
    script.write_text("""
        local mg = require "moongen"
        local timer = require "timer"
        function master(how)
          mg.startTask("sleeper", how)
          mg.waitForTasks()
        end
        function sleeper(how)
          local waits = timer:new(1e9)
          print("sleeps") io.stdout:flush()
          if how == "wait" then waits:wait() else mg[how](1e300) end
          mg.sleepMillis(1)
          print("ends", mg.running())
        end
    """)
    with running(PERIGEE, "moongen", script, how) as process:
        process.wait_for("sleeps")
        wait_until(lambda: all_sleep(process.pid), "the sleep")  # one begun later is whole
        process.send(number)
        assert process.finish() == 0
        assert "ends\tfalse" in process.said


def test_a_template_is_in_all_buffers(tmp_path):
    script = tmp_path / "script.lua"
    script.write_text("""
        local memory = require "memory"
        function master(n)
          local mem = memory.createMemPool{n = n, bufSize = 64, func = function (buf)
            buf:getEthernetPacket():fill{ethType = 0x1234}
          end}
          local first, found = mem:bufArray(n / 2), 0
          local second = mem:bufArray(n / 2)
          first:alloc(60)
          second:alloc(60)
          for _, bufs in ipairs{first, second} do
            for _, buf in ipairs(bufs) do
              if buf:getEthernetPacket().eth:getType() == 0x1234 then found = found + 1 end
            end
            bufs:freeAll()
          end
          print("found", found)
        end""")
    result = run(PERIGEE, "moongen", script, 70000)
    assert "found\t70000\n" in result.stdout, result.stderr


def test_forwarding_leaks_nothing():
    """A short time of what test/moongen/soak.lua can do for hours."""
    ports = [word for i, name in enumerate("aabb")
             for word in ("--port", f"{i}=ring:{name}")]
    result = run(PERIGEE, "moongen", *ports, SCRIPTS / "soak.lua", "-t", 2)
    assert result.returncode == 0, result.stderr
    sent, got, lost = map(int, re.search(r"^packets\t(\d+)\t(\d+)\t(\d+)$", result.stdout,
                                         re.M).groups())
    assert sent == got + lost and sent > 1000
    assert re.search(r"^missing\t0$", result.stdout, re.M)
    assert "neither sent nor freed" not in result.stdout


def lost(way, *args, ports):
    """What the script counted, and what is told of losses in its last lines."""
    options = [word for i, port in enumerate(ports) for word in ("--port", f"{i}={port}")]
    result = run(PERIGEE, "moongen", *options, SCRIPTS / "losses.lua", way, *args)
    assert result.returncode == 0, result.stderr
    counted = re.search(r"^counted\t(.*)$", result.stdout, re.M)[1]
    told = re.findall(r"^\[WARN\]  (Device .*): (\d+) packets lost: (.*)$", result.stdout,
                      re.M)
    return [int(n) for n in counted.split("\t")], told


def test_packets_that_are_too_long_are_told():
    """A VLAN tag comes on top of the longest."""
    counted, told = lost("long", 10240, ports=["null"])
    assert counted == [7, 3]
    assert told == [("Device 0 (null), tx queue 1", "3",
                     "longer than the 10240 bytes that the port takes")]


def test_packets_that_are_too_long_are_told_where_sending_never_waits():
    counted, told = lost("try", 10240, ports=["null"])
    assert counted == [4, 3]
    assert told == [("Device 0 (null), tx queue 0", "1",
                     "longer than the 10240 bytes that the port takes")]


def test_packets_without_room_in_a_queue_are_told_and_missed(tmp_path):
    """All that came are the script's, missed, or waited at the end."""
    capture.save(tmp_path / "in.pcap", 5000 * [bytes(60)])
    counted, told = lost("queue", 5000, ports=[f"pcap:rx={tmp_path}/in.pcap"])
    received, missed, came, octets = counted
    assert (received + missed, came, octets) == (5000, 5000, 5000 * 64)
    assert missed > 0
    where = f"Device 0 (pcap:rx={tmp_path}/in.pcap), rx queue 0"
    assert told == [(where, str(missed), "it had no room"),
                    (where, str(received), "not received when the script ended")]


def test_packets_that_wait_in_a_ring_are_told():
    counted, told = lost("ring", 100, ports=["ring:moongen", "ring:moongen"])
    assert counted == [100]
    assert told == [("Device 1 (ring:moongen)", "100",
                     "in the ring and not received when the script ended")]


STARTS_SLOWLY = """
local mg = require "moongen"
if LIBMOON_TASK_NAME then mg.sleepMillis(1000) end

function work()
	local began = mg.getTime()
	while mg.running() do mg.sleepMillisIdle(1) end
	print(mg.getTime() - began > 0.25 and "had its time" or "was cut short")
end

function master()
	mg.setRuntime(0.5)
	mg.startTask("work")
	mg.waitForTasks()
	assert(not mg.running())
	mg.startTask("work")
	mg.setRuntime(0.5)
	mg.waitForTasks()
end
"""


def test_the_runtime_begins_when_tasks_have_started(tmp_path):
    (tmp_path / "slow.lua").write_text(STARTS_SLOWLY)
    result = run(PERIGEE, "moongen", "--port", "0=null", tmp_path / "slow.lua")
    assert (result.returncode, result.stdout.count("had its time")) == (0, 2), result.stdout
    assert "cut short" not in result.stdout


@pytest.mark.parametrize("start", [
    'mg.startTask("missing")', 'pcall(mg.startTaskOnCore, 99999, "master")',
    'mg.startTask("fails")'])
def test_the_runtime_ends_though_a_task_fails(tmp_path, start):
    (tmp_path / "fails.lua").write_text(f"""
local mg = require "moongen"
function fails() error("so it is") end
function master()
	mg.setRuntime(0.2)
	{start}
	while mg.running() do mg.sleepMillisIdle(1) end
	print("it is over")
end""")
    result = run(PERIGEE, "moongen", "--port", "0=null", tmp_path / "fails.lua")
    assert "it is over\n" in result.stdout, result.stderr


def test_what_waits_while_the_process_is_stopped_is_not_lost():
    """Time counts in which a script could have received."""
    with running(PERIGEE, "moongen", "--port", "0=ring:x", "--port", "1=ring:x",
                 SCRIPTS / "stopped.lua") as it:
        for stops in 1, 2:
            it.wait_for("stopping", count=stops)
            state = pathlib.Path(f"/proc/{it.pid}/stat")
            wait_until(lambda: state.read_text().rsplit(")", 1)[1].split()[0] == "T",
                       "its stop")
            time.sleep(0.5)  # longer than either waits
            it.send(signal.SIGCONT)
        assert it.finish() == 0, it.said
    assert "measured\ttrue\n" in it.said and "received\t50\tof\t50\n" in it.said
