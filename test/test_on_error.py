# SPDX-License-Identifier: Apache-2.0
"""What becomes of apps that raise errors (config.on_error, --on-error): the program goes
on, or ends with a sentence; every packet is counted."""

import re
import signal

import pytest

from helpers.capture import save
from helpers.command import PERIGEE, ROOT, perigee, running
from helpers.report import account

# The app 'bad' raises an error for one packet in 1,000 by its method; `more` are lines
# that add to its class.
PROGRAM = """
local basic = require("apps.basic.basic_apps")
local Bad = {}
Bad.__index = Bad
local apps = 0
function Bad:new()
  apps = apps + 1
  return setmetatable({seen = 0}, Bad)
end
local function look(self)
  self.seen = self.seen + 1
  if self.seen %% 1000 == 0 then %(raise_it)s end
end
%(method)s
local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "bad", Bad)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> bad.input")
config.link(c, "bad.output -> sink.input")
%(more)s
engine.configure(c)
engine.main{duration = %(seconds)s, report = {showapps = true, showpackets = true}}
"""

METHODS = {
    "process": "function Bad:process(p) look(self) return p end",
    "push": """
function Bad:push()
  local input = self.input.input
  for _ = 1, link.nreadable(input) do
    look(self)
    link.transmit(self.output.output, link.receive(input))
  end
end""",
}


@pytest.fixture
def script(tmp_path):
    """A function that writes PROGRAM with these parts; its path."""
    def write(method="process", raise_it='error("the thousandth")', more="",
              seconds=0.3):
        path = tmp_path / "script.lua"
        path.write_text(PROGRAM % {"method": METHODS[method], "raise_it": raise_it,
                                   "more": more, "seconds": seconds})
        return path
    return write


def run_it(*arguments):
    return perigee("--eal", "--no-huge", *arguments)


def count(pattern, text):
    """The number before the pattern in the report."""
    found = re.search(rf"^ +([\d,]+) {pattern}", text, re.M)
    return int(found.group(1).replace(",", "")) if found else 0


def placed(path, before):
    """The option before or behind the program."""
    return [["--on-error", "drop", "run", path], ["--on-error=drop", "run", path],
            ["run", path, "--on-error", "drop"],
            ["run", path, "--on-error=drop"]][before]


@pytest.mark.parametrize("before", range(4))
def test_the_option_is_taken_anywhere(script, before):
    result = run_it(*placed(script(), before))
    assert result.returncode == 0, result.stderr
    assert "app 'bad' is stopped: packets for it are dropped" in result.stderr
    a = account(result.stdout)
    assert count("dropped: error", result.stdout) == 1
    assert a["freed"] == 999 + 1 + count("dropped: stopped for an error", result.stdout)
    assert a["held by apps"] == 1 and a["in links"] == 0


@pytest.mark.fast
@pytest.mark.parametrize("arguments", [["--on-error", "retry", "echo", "null"],
                                       ["echo", "null", "--on-error=retry"]])
def test_a_policy_that_is_none(arguments):
    result = perigee(*arguments)
    assert result.returncode == 2
    assert result.stderr == ("perigee: --on-error: 'retry' is none of stop, restart, "
                             "bypass, drop\n")


@pytest.mark.fast
def test_the_option_needs_a_value():
    result = perigee("echo", "null", "--on-error")
    assert result.returncode == 2
    assert result.stderr == "perigee: option '--on-error' needs a value\n"


def test_what_follows_two_dashes_is_the_programs(tmp_path):
    path = tmp_path / "words.lua"
    path.write_text("print(...)")
    result = perigee("run", path, "a", "--", "--on-error", "x")
    assert result.stdout.split() == ["a", "--", "--on-error", "x"]


ENDLESS = "local function f(x) return 1 + f(x) end f(1)"
BURST = 256


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fault", ['error("no")', "error({})", "error()", "error(nil, 0)",
                                   "local x = nil + 1", ENDLESS])
def test_an_app_is_made_anew_whatever_it_raises(script, method, fault):
    path = script(method, raise_it=fault,
                  more='config.on_error(c, "bad", "restart", {times = 1e6})')
    result = run_it("run", path)
    assert result.returncode == 0, result.stderr
    restarts = count("", result.stdout[result.stdout.index("started again:"):]
                     .replace("started again:", "\n "))
    a = account(result.stdout)
    errors = sum(count(f"error{s}: in {method}", result.stdout) for s in ("", "s"))
    assert restarts == errors > 1
    assert a["allocated"] > 990 * errors
    # Where the stack has no room for a handler, the burst at hand stays with the apps.
    assert a["held by apps"] == 1 or (
        fault == ENDLESS and 1 < a["held by apps"] < 1 + BURST * errors)
    # Told once (an address may be in it), with the start that followed.
    assert len(re.findall(r"^perigee: app 'bad': in ", result.stderr, re.M)) == 1
    assert result.stderr.count("runs again") == 1


def test_a_limit_ends_the_program(script):
    result = run_it("--on-error", "restart", "run", script())
    assert result.returncode == 1
    assert re.search(r"^perigee: app 'bad': it isn't started again, as it was 5 times "
                     r"within 10 s; its last error: app 'bad': in process\(\): \S+: the "
                     r"thousandth$", result.stderr, re.M), result.stderr
    assert count("errors: in process", result.stdout) == 6
    account(result.stdout)


def test_bypass_is_for_apps_that_can_be_passed_by(script):
    result = run_it("run", script(more='config.on_error(c, "source", "bypass")'))
    assert result.returncode == 2
    assert re.fullmatch(r"perigee: app 'source': packets can't bypass it on an error: "
                        r"packets come in at it \(it has pull\(\)\); let it be stop, "
                        r"restart or drop\n", result.stderr), result.stderr


def test_for_all_apps_bypass_leaves_out_the_others(script):
    """The source, which can't be passed by, ends the program as without the option."""
    more = "config.app(c, 'source', {new = function () return {pull = look_no} end})"
    more = "local look_no = function () error('dry') end " + more
    result = run_it("--on-error", "bypass", "run", script(more=more))
    assert result.returncode == 1
    assert "perigee: app 'source': in pull(): " in result.stderr
    result = run_it("--on-error", "bypass", "run", script("push"))
    assert result.returncode == 0, result.stderr
    a = account(result.stdout)
    assert a["allocated"] - 1 == a["freed"] == 999 + count("packets bypassed it",
                                                           result.stdout)


@pytest.mark.parametrize("policy", ["restart", "drop", "bypass"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_program_whose_apps_fail(script, policy, number):
    path = script(seconds=60, more=f"""
config.on_error(c, "bad", "{policy}"{', {times = 1e9}' if policy == "restart" else ""})""")
    with running(PERIGEE, "--eal", "--no-huge", "run", path) as program:
        program.wait_for("perigee: app 'bad': in process(): ")
        assert program.runs_for(0.3), program.said
        assert program.interrupt(number) == 0, program.said
        a = account(program.said)
    assert a["held by apps"] == 1


def test_a_signal_while_an_app_does_not_start(script):
    """It is tried again and again; then one comes in its new()."""
    more = """
local new = Bad.new
function Bad.new(...)
  if apps == 0 then return new(...) end
  io.stderr:write("trying\\n")
  for _ = 1, 3e7 do look({seen = 1}) end
  error("not now")
end
config.on_error(c, "bad", "restart", {times = 1e9})"""
    with running(PERIGEE, "--eal", "--no-huge", "run", script(seconds=60, more=more)) \
            as program:
        program.wait_for("trying\n", count=2)
        assert program.interrupt() == 0, program.said
        a = account(program.said)
    assert a["held by apps"] == 1
    assert count("dropped: stopped for an error", program.said) > 0


def test_an_app_that_does_not_return_is_made_anew(script):
    stuck = "for _ = 1, math.huge do io.write('') end"
    result = run_it("--watchdog", 0.5, "run", script(
        raise_it=f"if apps == 1 then jit.off(look) {stuck} end", seconds=3,
        more='config.on_error(c, "bad", "restart")'))
    assert result.returncode == 0, result.stderr
    assert "it hasn't returned for 0.5 s" in result.stderr
    assert "app 'bad' runs again" in result.stderr
    assert count("error: in process", result.stdout) == 1
    account(result.stdout)


# Workers ------------------------------------------------------------------------

FLOWS = """
local testing = require("testing.flows")
local c = config.new()
config.app(c, "source", testing.Flows, {packets = 1e9, flows = 10})
config.app(c, "failing", testing.Failing, {after = 5000})
config.app(c, "check", testing.Check, {flows = 10})
config.link(c, "source.output -> failing.input")
config.link(c, "failing.output -> check.input")
config.cpu(c, "failing", 0)
%s
engine.configure(c)
engine.main{duration = 1}
print("errors", engine.errors("failing").raised, engine.errors("failing").bypassed)
print("drops", engine.drops("failing")["stopped for an error"])
"""
SUM = re.compile(r"packets: received 0 \+ allocated (\S+) = sent 0 \+ freed (\S+) \+ "
                 r"dropped by ports 0 \+ in links (\S+) \+ between CPUs (\S+) \+ held by "
                 r"apps (-?\d+)")


@pytest.mark.parametrize("policy", ["drop", "bypass"])
@pytest.mark.parametrize("anywhere", [True, False])
def test_an_app_on_a_worker_fails_alone(tmp_path, policy, anywhere):
    path = tmp_path / "flows.lua"
    path.write_text(FLOWS % ("" if anywhere
                             else f'config.on_error(c, "failing", "{policy}")'))
    option = ["--on-error", policy] if anywhere else []
    result = run_it("-p", ROOT / "test/lua", "run", path, *option)
    assert result.returncode == 0, result.stderr
    assert "the worker on CPU" not in result.stderr
    assert "perigee: app 'failing' is stopped: packets " in result.stderr
    allocated, freed, in_links, rings, held = (
        int(n.replace(",", "")) for n in SUM.search(result.stdout).groups())
    assert allocated == freed + in_links + rings and held == 0
    raised, bypassed = re.search(r"errors\t(\d+)\t(\d+)", result.stdout).groups()
    dropped = re.search(r"drops\t(\w+)", result.stdout).group(1)
    assert raised == "1"
    assert (int(bypassed) > 5000 and dropped == "nil" if policy == "bypass"
            else bypassed == "0" and int(dropped) > 5000)


def test_a_worker_whose_app_is_not_started_again_stops(tmp_path):
    path = tmp_path / "flows.lua"
    path.write_text(FLOWS % 'config.on_error(c, "failing", "restart", {times = 2})')
    result = run_it("-p", ROOT / "test/lua", "run", path)
    assert result.returncode == 1
    assert re.search(r"^perigee: the worker on CPU 0 has stopped: app 'failing': it isn't "
                     r"started again, as it was 2 times within 10 s; its last error: ",
                     result.stderr, re.M), result.stderr
    assert result.stderr.endswith("the worker on CPU 0 stopped for an error in app "
                                  "'failing'; the others went on\n")


FILE = """
local c = config.new()
config.app(c, "reader", require("apps.port.port").Port, "pcap:rx=in.pcap")
config.app(c, "sink", require("apps.basic.basic_apps").Sink)
config.link(c, "reader.output -> sink.input")
config.on_error(c, "reader", "%s")
engine.configure(c)
local ticks = 0
engine.app_table.reader.tick = function ()
  ticks = ticks + 1
  if ticks == 2 then error("now") end
end
engine.configure(c)
engine.main{done = engine.finished}
"""


@pytest.mark.parametrize("policy", ["drop", "restart"])
def test_the_program_ends_when_a_file_has_that_a_failed_port_read(tmp_path, policy):
    save(tmp_path / "in.pcap", [bytes(60)] * 200_000)
    (tmp_path / "script.lua").write_text(FILE % policy)
    result = perigee("--eal", "--no-huge", "run", "script.lua", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "perigee: app 'reader': in tick(): " in result.stderr
    a = account(result.stdout)
    assert a["received"] == a["freed"]
    if policy == "restart":  # from the file's beginning
        assert 200_000 <= a["received"] <= 400_000
    else:
        assert a["received"] <= 200_000
