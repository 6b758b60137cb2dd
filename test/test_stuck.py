# SPDX-License-Identifier: Apache-2.0
"""The watchdog: an app that doesn't return is named, and the program ends, or goes on
without its worker. What only takes long is let alone."""

import contextlib
import os
import re
import resource
import signal
import sys
import time

import pytest

from helpers.command import PERIGEE, perigee, run, running
from helpers.report import account

APPS = """
local apps = {}

local function class(method, loop)
  local Class = {}
  Class.__index = Class
  function Class:new() return setmetatable({calls = 0}, Class) end
  Class[method] = function (self, p)
    self.calls = self.calls + 1
    if self.calls == 200 then loop() end
    return p
  end
  return Class
end

local function compiled() while true do end end
local function interpreted() while true do io.write("") end end
jit.off(interpreted)

for _, method in ipairs{"pull", "push", "tick", "process"} do
  apps["compiled_" .. method] = class(method, compiled)
  apps["interpreted_" .. method] = class(method, interpreted)
end
apps.Pass = {new = function () return {process = function (_, p) return p end} end}
return apps
"""

PROGRAM = """
package.path = "%s/?.lua;" .. package.path
local apps, basic = require("stuck_apps"), require("apps.basic.basic_apps")
local kind, cpu = ...
local duration, done = 50
local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "tee", basic.Tee)
config.app(c, "sink", basic.Sink)
config.app(c, "pass", apps.Pass)
config.app(c, "stuck", apps[kind])
config.link(c, "source.output -> tee.input")
config.link(c, "tee.a -> sink.input")
if kind:match("pro") then
  config.link(c, "tee.b -> pass.input")
  config.link(c, "pass.output -> stuck.input")
  config.link(c, "stuck.output -> sink.other")
elseif kind:match("push") then
  config.link(c, "tee.b -> stuck.input")
end
if cpu then config.cpu(c, "stuck", tonumber(cpu)) end
%s
engine.configure(c)
engine.main{duration = duration, done = done}
"""

# The program ends a second after its worker has.
WORKER_GONE = """
engine.stuck_worker, duration = "give up", nil
local workers = require("core.cpus.workers")
local function gone()
  local worker = workers.by_cpu[0]
  return not worker or worker.dead or worker:is_given_up()
end
local since
function done()
  since = since or gone() and engine.now()
  return since and engine.now() > since + 1
end
"""


@pytest.fixture
def program(tmp_path):
    """A function that runs PROGRAM with these arguments; what it says on stderr, and
    its report."""
    (tmp_path / "stuck_apps.lua").write_text(APPS)

    def run_it(*arguments, settings=""):
        script = tmp_path / "script.lua"
        script.write_text(PROGRAM % (tmp_path, settings))
        result = perigee("--eal", "--no-huge", "--watchdog", 0.5, "run", script,
                         *arguments)
        assert result.returncode == 1, result.stdout + result.stderr
        return result.stderr, result.stdout

    return run_it


@pytest.mark.parametrize("method", ["pull", "push", "tick", "process"])
def test_interpreted_code_is_stopped_and_the_program_ends_orderly(program, method):
    said, report = program("interpreted_" + method)
    message, = re.findall(r"^perigee: .*$", said, re.M)
    assert re.fullmatch(
        rf"perigee: app 'stuck': in {method}\(\): \S*stuck_apps.lua:17: it hasn't returned "
        r"for 0.5 s, on CPU \d+ \(--watchdog .*\)", message), message
    assert "packets: received" in report


@pytest.mark.parametrize("method", ["pull", "push", "tick", "process"])
def test_compiled_code_is_named_and_the_program_ends(program, method):
    said, _ = program("compiled_" + method)
    assert re.fullmatch(
        rf"perigee: app 'stuck': in {method}\(\): on CPU \d+, at \S*stuck_apps.lua:16 "
        r"\(compiled\): it hasn't returned for 1.5 s \(--watchdog .*\)\n", said), said


OTHERS = 3  # that want the same CPU


def test_time_without_a_cpu_is_not_counted(tmp_path):
    """Among others on its CPU an app has as much of its time as alone: 1.5 s, of which the
    last comes after the interruption."""
    cpu = min(os.sched_getaffinity(0))
    loop = "io.stderr:write(('began at %g s'):format(os.clock())) while true do end"
    (tmp_path / "stuck_apps.lua").write_text(APPS.replace("while true do end end", f"{loop} end", 1))
    script = tmp_path / "script.lua"
    script.write_text(PROGRAM % (tmp_path, ""))
    with contextlib.ExitStack() as stack:
        for _ in range(OTHERS):
            stack.enter_context(running("taskset", "-c", cpu, sys.executable, "-c",
                                        "while True: pass"))
        before = used_by_children()
        result = run("taskset", "-c", cpu, PERIGEE, "--eal", "--no-huge", "--watchdog", 0.5, "run",
                     script, "compiled_push")
        used = used_by_children() - before
    assert result.returncode == 1
    began, = re.findall(r"began at (\S+) s", result.stderr)
    assert "it hasn't returned for 1.5 s" in result.stderr
    assert used - float(began) > 1.4, result.stderr


def used_by_children():
    """CPU seconds of children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize("kind", ["compiled_push", "interpreted_push"])
def test_a_worker_that_is_stuck_ends_the_program_soon(program, kind):
    said, report = program(kind, 0)
    assert "app 'stuck': in push()" in said and "on CPU" in said
    assert re.search(r"the worker on CPU 0 .*; so the others were stopped", said)
    assert run_seconds(report) < 50
    account_of_workers(report)


@pytest.mark.parametrize("kind", ["compiled_push", "interpreted_push"])
def test_the_others_can_go_on(program, kind):
    said, report = program(kind, 0, settings=WORKER_GONE)
    assert "app 'stuck': in push()" in said and "on CPU" in said
    assert re.search(r"the worker on CPU 0 .*; the others went on", said)
    account_of_workers(report)
    if kind == "compiled_push":
        assert re.search(r"dropped on tee.b -> stuck.input: the worker on CPU 0 has "
                         "stopped", report)


CHANGES = WORKER_GONE + """
local changes = {function ()
  config.app(c, "more", apps.Pass)
  config.cpu(c, "more", 0)
  config.link(c, "tee.more -> more.input")
end, function ()
  for _, name in ipairs{"stuck", "more"} do c.apps[name], c.cpus[name] = nil, nil end
  for _, link in ipairs{"tee.b -> stuck.input", "tee.more -> more.input"} do
    c.links[link] = nil
  end
end}
timer.activate(timer.new("change", function ()
  if not gone() or not changes[1] then return end
  local began = engine.now()
  table.remove(changes, 1)()
  engine.configure(c)
  since = nil
  print(("a change in %d s"):format(require("core.native").pg_monotonic() - began))
end, 2e8, "repeating"))
"""


ANSWER_S = 30  # for which answers of workers are waited for


def test_what_the_others_run_can_change(program):
    """No configuration waits for a worker that is given up, or frees what it has."""
    said, report = program("compiled_push", 0, settings=CHANGES)
    assert re.search(r"the worker on CPU 0 was given up, .*; the others went on", said)
    seconds = [int(n) for n in re.findall(r"^a change in (\d+) s$", report, re.M)]
    assert len(seconds) == 2 and max(seconds) < ANSWER_S
    account_of_workers(report)


def run_seconds(report):
    return float(re.search(r"load: .*\((\S+) s\)", report).group(1))


IT_HAS = 4096 # packets at most: a full ring and a full link for each of two apps


def account_of_workers(report):
    """The sum, with links and rings, holds but for what the stuck worker has."""
    numbers = [int(n.replace(",", "")) for n in re.search(
        r"received (\S+) \+ allocated (\S+) = sent (\S+) \+ freed (\S+) \+ dropped by "
        r"ports (\S+) \+ in links (\S+) \+ between CPUs (\S+) \+ held by apps (\S+)",
        report).groups()]
    assert sum(numbers[:2]) == sum(numbers[2:])
    assert 0 <= numbers[-1] < IT_HAS


def test_main_ends_in_time_though_a_worker_hangs(tmp_path):
    (tmp_path / "stuck_apps.lua").write_text(APPS)
    script = tmp_path / "script.lua"
    script.write_text(PROGRAM % (tmp_path, "duration = 0.5"))
    result = perigee("--eal", "--no-huge", "run", script, "compiled_push", 0)
    assert result.returncode == 1
    assert "it hasn't returned for 6 s" in result.stderr # the watchdog's 5, and a second
    assert "the worker on CPU 0 was given up" in result.stderr
    assert "packets: received" in result.stdout


# What isn't stuck ------------------------------------------------------------------


def test_a_stopped_process_is_not_stuck():
    with running(PERIGEE, "--eal", "--no-huge", "--watchdog", 0.5, "echo",
                 "null") as program:
        program.wait_for_engine()
        assert program.runs_for(0.3), program.said
        program.send(signal.SIGSTOP)
        time.sleep(2)
        program.send(signal.SIGCONT)
        assert program.runs_for(1), program.said
        assert program.interrupt() == 0
    assert account(program.said)["received"] > 0
    assert "watchdog" not in program.said


SLOW = """
local C = require("core.native")
local function wait() local ends = C.pg_monotonic() + 1.2
  while C.pg_monotonic() < ends do end end
local Slow = {new = function() wait() return {
  link = wait, stop = wait, report = wait, tick = function() end} end}
local basic = require("apps.basic.basic_apps")
local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> sink.input")
engine.configure(c)
local changed
engine.main{duration = 0.3, done = nil}
timer.activate(timer.new("change", function ()
  config.app(c, "slow", Slow)
  config.link(c, "source.more -> slow.input")
  engine.configure(c)
  changed = true
end, 1e7))
engine.main{duration = 0.3}
assert(changed)
engine.Hz = 0.8
engine.main{duration = 1}
"""


def test_what_takes_long_by_its_nature_is_not_stuck(tmp_path):
    """Changes of the configuration, reports, and sleep between breaths."""
    script = tmp_path / "slow.lua"
    script.write_text(SLOW)
    result = perigee("--watchdog", 0.5, "run", script)
    assert result.returncode == 0, result.stderr


STARTS = """
package.path = "%s/?.lua;" .. package.path
local basic = require("apps.basic.basic_apps")
local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> sink.input")
for _, name in ipairs{"source", "sink"} do config.cpu(c, name, 0) end
engine.configure(c)
timer.activate(timer.new("change", function ()
  config.app(c, "slow", require("slow_app"))
  config.cpu(c, "slow", 0)
  engine.configure(c)
  print("changed")
end, 2e8))
engine.main{duration = 2}
"""


def test_an_app_may_take_long_to_start_on_a_worker_that_runs(tmp_path):
    (tmp_path / "slow_app.lua").write_text("""
local C = require("core.native")
return {new = function() local ends = C.pg_monotonic() + 2.5
  while C.pg_monotonic() < ends do end
  return {} end}
""")
    script = tmp_path / "script.lua"
    script.write_text(STARTS % tmp_path)
    result = perigee("--eal", "--no-huge", "--watchdog", 0.5, "run", script)
    assert result.returncode == 0, result.stderr
    assert "changed" in result.stdout


def test_it_can_be_off(tmp_path):
    script = tmp_path / "slow.lua"
    script.write_text("""
local Slow = {new = function() return {pull = function()
  local ends = os.clock() + 6
  while os.clock() < ends do end
end} end}
local c = config.new()
config.app(c, "slow", Slow)
engine.configure(c)
engine.main{duration = 1}
""")
    assert perigee("--watchdog", "off", "run", script).returncode == 0
    assert perigee("run", script).returncode == 1


@pytest.mark.parametrize("value", ["0", "-1", "never", "nan"])
def test_a_bad_value_is_refused(value):
    result = perigee("--watchdog", value, "echo", "null", 1, 0.1)
    assert result.returncode == 2
    assert result.stderr == (f"perigee: --watchdog {value}: give a number of seconds from "
                             "0.2 on, or 'off'\n")
