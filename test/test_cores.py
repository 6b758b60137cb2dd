# SPDX-License-Identifier: Apache-2.0
"""Graphs over several CPUs: the same packets as on one, in order, whatever happens
meanwhile. The apps and what they check are in test/lua/testing/flows.lua."""

import json
import re
import signal
import statistics
import subprocess
import sys
import time

import pytest

from helpers.command import PERIGEE, ROOT, perigee, running, wait_until
from helpers.network import Wire, veth
from helpers.report import account, port_statistics

SCRIPT = ROOT / "test" / "many_cores.lua"
PACKETS, FLOWS = 10_000_000, 10_000
# The few hugepages that there may be are for others.
OPTIONS = ["-p", ROOT / "test/lua", "--eal", "--no-huge"]


def outcome(shape, *options, packets=PACKETS, flows=FLOWS):
    """What many_cores.lua prints: received, sum, mixed up, lost, unaccounted for."""
    result = perigee(*OPTIONS, "run", SCRIPT, shape, packets, flows, *options,
                     timeout=300)
    assert result.returncode == 0, result.stderr
    return [int(word) for word in result.stdout.split()]


@pytest.fixture(scope="module")
def reference():
    return outcome("one")


@pytest.mark.parametrize("shape", ["two", "copies"])
def test_the_same_packets_as_on_one_cpu(shape, reference):
    assert reference[0] == PACKETS and reference[2:] == [0, 0, 0]
    assert outcome(shape, "yes") == reference


PROGRAM = """
local affinity = require("core.cpus.affinity")
local testing = require("testing.flows")
local cpus = affinity.cpus()
local c = config.new()
config.app(c, "source", testing.Flows, {packets = 1e12, flows = 10})
config.app(c, "pass", testing.Pass)
config.app(c, "check", testing.Check, {flows = 10})
config.link(c, "source.output -> pass.input")
config.link(c, "pass.output -> check.input")
config.cpu(c, "source", cpus[1])
config.cpu(c, "check", cpus[2] or cpus[1])
engine.configure(c)
engine.main()
"""

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_all_workers(tmp_path, number):
    script = tmp_path / "script.lua"
    script.write_text(PROGRAM)
    with running(PERIGEE, *OPTIONS, "run", script) as program:
        program.wait_for_engine()
        assert program.runs_for(2), program.said
        assert program.interrupt(number) == 0, program.said
        received, allocated, sent, freed, dropped, links, rings, held = account(
            program.said).values()
    assert (received, sent, dropped, held) == (0, 0, 0, 0)
    assert allocated == freed + links + rings
    sink = int(re.search(r"received ([\d,]+)", program.said[program.said.index(
        "check\n"):]).group(1).replace(",", ""))
    assert sink == freed > 0


FAILURE = """
local C = require("core.native")
local workers = require("core.cpus.workers")
local testing = require("testing.flows")
local cpus = require("core.cpus.affinity").cpus()
local bad, good = cpus[1], cpus[2] or cpus[1] + 1
local c = config.new()
config.app(c, "source", testing.Flows, {packets = 1e12, flows = 10, burst = 1})
config.app(c, "failing", testing.Failing, {after = 1e7})
config.link(c, "source.output -> failing.input")
config.app(c, "source2", testing.Flows, {packets = 1e12, flows = 10})
config.app(c, "check", testing.Check, {flows = 10})
config.link(c, "source2.output -> check.input")
for app, cpu in pairs{source = bad, failing = bad, source2 = good, check = good} do
  config.cpu(c, app, cpu)
end
engine.configure(c)
local times = {[true] = 0, [false] = 0}
local packets, seconds, next_look = 0, 0, 0
local ok, err = pcall(engine.main, {done = function ()
  if C.pg_monotonic() < next_look then return end
  next_look = C.pg_monotonic() + 0.001
  local now = workers.report().cpus[good]
  if now.seconds - seconds > 0.0005 then
    print(workers.by_cpu[bad].dead and "after" or "before",
      (now.packets - packets) / (now.seconds - seconds))
    packets, seconds = now.packets, now.seconds
    local kind = workers.by_cpu[bad].dead ~= nil
    times[kind] = times[kind] + 1
  end
  return times[true] >= 100
end})
error(err, 0)
"""


def test_an_error_on_one_cpu_doesnt_slow_the_others_down(tmp_path):
    """Packets a second of CPU time, before and after another worker's error."""
    script = tmp_path / "script.lua"
    script.write_text(FAILURE)
    result = perigee(*OPTIONS, "run", script, timeout=120)
    assert result.returncode == 1, result.stderr
    assert "has stopped: app 'failing': " in result.stderr
    assert "for an error in app 'failing'; the others went on" in result.stderr
    assert re.search(r"^CPU \d+: .*\(stopped\)$", result.stdout, re.M)
    received, allocated, sent, freed, dropped, links, rings, held = account(
        result.stdout).values()
    assert (received, sent, dropped, rings, held) == (0, 0, 0, 0, 0)
    assert allocated == freed + links and freed > 1_000_000
    rates = {when: [float(rate) for rate in re.findall(rf"^{when}\s+(\S+)$",
                                                       result.stdout, re.M)]
             for when in ("before", "after")}
    assert len(rates["before"]) > 10 and len(rates["after"]) >= 100
    # As fast where the machine is idle; here only that it isn't held up.
    warm = rates["before"][len(rates["before"]) // 2:]
    assert statistics.median(rates["after"]) > 0.1 * statistics.median(warm)


CYCLES = """
local testing = require("testing.flows")
local account = require("core.engine.account")
local C = require("core.native")
local cpus = require("core.cpus.affinity").cpus()
local c = config.new()
config.app(c, "source", testing.Flows, {packets = 1e12, flows = 10})
config.app(c, "check", testing.Check, {flows = 10})
config.link(c, "source.output -> check.input")
config.cpu(c, "source", cpus[1])
config.cpu(c, "check", cpus[2] or cpus[1])
local function resident()
  local file = io.open("/proc/self/statm")
  local pages = file:read("*a"):match("%d+ (%d+)")
  file:close()
  return tonumber(pages)
end
local function descriptors()
  collectgarbage()
  return #require("posix.dirent").dir("/proc/self/fd")
end
local function cycle(n)
  for _ = 1, n do
    engine.configure(c)
    engine.main{duration = 0.001, no_report = true}
    engine.configure(config.new())
  end
  local packets = account.packets({})
  collectgarbage()
  return {resident(), descriptors(), packets.held, account.in_drivers(packets)}
end
local cycles = tonumber((...))
local before = cycle(cycles / 2)
local after = cycle(cycles / 2)
print(table.concat(before, " "))
print(table.concat(after, " "))
"""


def test_starting_and_stopping_leaks_nothing(tmp_path):
    """A minute long: it takes some hundred starts, of 50 ms of CPU time each, until the
    C library's heap has filled up, which is in the first half; then it is used again."""
    script = tmp_path / "script.lua"
    script.write_text(CYCLES)
    result = perigee(*OPTIONS, "run", script, 600, timeout=900)
    assert result.returncode == 0, result.stderr
    before, after = ([int(word) for word in line.split()]
                     for line in result.stdout.splitlines())
    assert after[1] <= before[1] and after[2:] == before[2:] == [0, 0]
    assert after[0] - before[0] < 1500, "five pages for each cycle; a state has hundreds"


BRIDGE = """
local Port = require("apps.port.port").Port
local Fwd = require("apps.fwd.fwd").Fwd
local c = config.new()
config.app(c, "a", Port, "packet:left")
config.app(c, "b", Port, "packet:right")
config.app(c, "there", Fwd)
config.app(c, "back", Fwd)
config.link(c, "a.output -> there.input")
config.link(c, "there.output -> b.input")
config.link(c, "b.output -> back.input")
config.link(c, "back.output -> a.input")
engine.configure(c)
engine.main()
"""


@pytest.mark.parametrize("others", [0, 4])
def test_a_running_bridge_is_divided_and_loses_nothing(namespace, tmp_path, others):
    """Also while other processes keep both CPUs busy. What is sent has room in the
    kernel's queue of a port, as long as that isn't closed."""
    here, there = namespace("p"), namespace("t")
    veth(here, "left", there, "far_left", offloads=False)
    veth(here, "right", there, "far_right", offloads=False)
    script = tmp_path / "bridge.lua"
    script.write_text(BRIDGE)
    frame, sent = b"\xff" * 12 + b"\x88\xb5" + bytes(46), 4000
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(others)]
    try:
        with running(*here.command(PERIGEE, "--cpus", "0-1", "run", script)) as bridge:
            bridge.wait_for_engine()

            def counter(name):
                text = perigee("shm", "--json", bridge.pid).stdout
                return json.loads(text or "{}").get(name, 0)

            def divided():
                return counter("workers/0/engine/breaths") + counter(
                    "workers/1/engine/breaths") > 0
            with Wire(there, "far_left") as wire:
                for i in range(sent):
                    wire.send(frame)
                    if i % 100 == 0 and i < sent - 100:
                        time.sleep(0.01)
            wait_until(divided, "it runs on both CPUs")
            wait_until(lambda: counter("apps/b/txpackets") + counter("apps/a/rxdrop")
                       + counter("apps/b/txdrop") >= sent, "all packets have passed")
            assert bridge.interrupt() == 0, bridge.said
            ports = port_statistics(bridge.said)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert ports["packet:left"]["ipackets"] == sent
    assert ports["packet:right"]["opackets"] == sent
    for spec in ("a.output -> there.input", "there.output -> b.input"):
        assert f"{sent:,} sent on {spec}" in bridge.said
    received, _, out, freed, dropped, links, rings, held = account(bridge.said).values()
    assert (received, out) == (sent, sent)
    assert freed == dropped == links == rings == held == 0
