# SPDX-License-Identifier: Apache-2.0
"""Graphs over several CPUs: the same packets as on one, in order, whatever happens
meanwhile. The apps and what they check are in src/core/cores/testing.lua."""

import os
import re
import shutil
import signal
import subprocess

import pytest

from helpers.command import PERIGEE, ROOT, perigee, running

SCRIPT = ROOT / "test" / "many_cores.lua"
PACKETS, FLOWS = 10_000_000, 10_000
MEMORY = ["--eal", "--no-huge"]  # the few hugepages there may be are for others


def outcome(shape, *options, packets=PACKETS, flows=FLOWS):
    """What many_cores.lua prints: received, sum, mixed up, lost, unaccounted for."""
    result = perigee(*MEMORY, "run", SCRIPT, shape, packets, flows, *options, timeout=300)
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
local affinity = require("core.cores.affinity")
local testing = require("core.cores.testing")
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

NUMBERS = re.compile(
    r"packets: received (\S+) \+ allocated (\S+) = sent (\S+) \+ freed (\S+) \+ "
    r"dropped by ports (\S+) \+ in links (\S+) \+ between CPUs (\S+) \+ "
    r"held by apps (\S+)")


def numbers(text):
    found = NUMBERS.search(text)
    assert found, text
    return [int(n.replace(",", "")) for n in found.groups()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_all_workers(tmp_path, number):
    script = tmp_path / "script.lua"
    script.write_text(PROGRAM)
    with running(PERIGEE, *MEMORY, "run", script) as program:
        program.wait_for_engine()
        assert program.runs_for(0.5), program.said
        assert program.interrupt(number) == 0, program.said
        received, allocated, sent, freed, dropped, links, rings, held = numbers(
            program.said)
    assert (received, sent, dropped, held) == (0, 0, 0, 0)
    assert allocated == freed + links + rings
    sink = int(re.search(r"received ([\d,]+)", program.said[program.said.index(
        "check\n"):]).group(1).replace(",", ""))
    assert sink == freed > 0


CYCLES = """
local testing = require("core.cores.testing")
local account = require("core.engine.account")
local C = require("core.native")
local cpus = require("core.cores.affinity").cpus()
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
    """The C library's heap fills up in the first half and is used again after it."""
    script = tmp_path / "script.lua"
    script.write_text(CYCLES)
    result = perigee(*MEMORY, "run", script, 1000, timeout=300)
    assert result.returncode == 0, result.stderr
    before, after = ([int(word) for word in line.split()]
                     for line in result.stdout.splitlines())
    assert after[1:] == before[1:] and before[2:] == [0, 0]
    assert after[0] - before[0] < 250, "half a page for each cycle"


def test_thread_sanitizer_finds_nothing(tmp_path):
    """LuaJIT isn't built for it: what it calls by itself (memcpy) is left out."""
    for name in "Makefile", "src":
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    subprocess.run(["make", "-s", "-C", tmp_path, "SANITIZE=thread", "CFLAGS=-O1 -g"],
                   check=True, timeout=300, capture_output=True)
    left_out = tmp_path / "left_out"
    left_out.write_text("called_from_lib:libluajit-5.1.so.2\nmutex:libgcc_s.so\n")
    for shape in "two", "copies":
        result = subprocess.run(
            [tmp_path / "perigee", *MEMORY, "run", SCRIPT, shape, "1000000", "1000",
             "yes"],
            capture_output=True, text=True, timeout=300,
            env={**os.environ, "TSAN_OPTIONS": f"suppressions={left_out} exitcode=66"})
        assert result.returncode == 0 and "WARNING" not in result.stderr, result.stderr
