# SPDX-License-Identifier: Apache-2.0
"""What goes wrong while a program runs: one sentence, exit status 1, counters right."""

import re
import subprocess

import pytest

from helpers.capture import save
from helpers.command import PERIGEE, perigee, run, running
from helpers.network import Wire, veth
from helpers.report import account, port_statistics

KEEPER = """
local kept = {}
local Keeper = {new = function() return {push = function(self)
  local input = self.input.input
  while not link.empty(input) do kept[#kept + 1] = link.receive(input) end
end} end}
local c = config.new()
config.app(c, "source", %s)
config.app(c, "keeper", Keeper)
config.link(c, "source.output -> keeper.input")
engine.configure(c)
engine.main()
"""


def sentences(said):
    """The lines of the output that are messages."""
    return re.findall(r"^perigee: .*$", said, re.MULTILINE)


# A kernel interface that is down: one that is gone is in test_interface_away.py ---


@pytest.mark.parametrize("kind", ["packet", "xdp"])
def test_an_interface_that_goes_down_and_up(namespace, kind):
    here, there = namespace("p"), namespace("t")
    veth(here, "left", there, "right")
    with Wire(there, "right") as wire, \
            running(*here.command(PERIGEE, "echo", f"{kind}:left")) as program:
        wire.wait_for_echo(program)
        here.ip("link", "set", "left", "down")
        assert program.runs_for(0.3), program.said
        here.ip("link", "set", "left", "up")
        wire.wait_for_echo(program)
        frames = [bytes([n]) * 60 for n in range(100)]
        assert wire.exchange(frames) == frames
        assert program.interrupt() == 0, program.said
    a = account(program.said)
    stats = port_statistics(program.said)[f"{kind}:left"]
    assert a["received"] == a["sent"] == stats["ipackets"]
    assert stats["opackets"] + stats["oerrors"] == a["sent"]


# No packets left ----------------------------------------------------------------


def test_an_app_that_keeps_all_packets(tmp_path):
    script = tmp_path / "keeper.lua"
    script.write_text(KEEPER % 'require("apps.basic.basic_apps").Source')
    result = perigee("--packets", 1024, "run", script)
    assert result.returncode == 1
    assert "traceback" not in result.stderr
    message = sentences(result.stderr)[-1]
    assert re.search(r"the packet pool is empty: all of its \d+ packets are in use .*"
                     "raise the limit with --packets", message)
    a = account(result.stdout)
    assert a["allocated"] == a["in links"] + a["held by apps"]
    assert 1000 <= a["allocated"] <= 1024


def test_a_port_waits_for_packets_when_an_app_keeps_all(tmp_path):
    script = tmp_path / "keeper.lua"
    script.write_text(KEEPER % 'require("apps.port.port").Port, "null"')
    with running(PERIGEE, "--packets", 1024, "run", script) as program:
        program.wait_for("the packet pool can't grow: all 1024 packets are in use")
        assert program.runs_for(0.3), program.said
        assert program.interrupt() == 0
    a = account(program.said)
    assert a["received"] == a["held by apps"] + a["in links"]
    assert 700 <= a["received"] <= 1024
    assert program.said.count("can't grow") == 1


# Apps that fail -----------------------------------------------------------------


def test_a_mistake_in_an_app_shows_where_it_is(tmp_path):
    script = tmp_path / "wrong.lua"
    script.write_text("""
local Wrong = {new = function() return {pull = function(self)
  local nothing = nil
  nothing.field = 1
end} end}
local c = config.new()
config.app(c, "wrong", Wrong)
engine.configure(c)
engine.main()
""")
    result = perigee("run", script)
    assert result.returncode == 1
    assert "wrong.lua:4: attempt to index local 'nothing'" in result.stderr
    assert "stack traceback:" in result.stderr
    account(result.stdout)


REPORTING = """
local basic = require("apps.basic.basic_apps")
local c = config.new()
for _, name in ipairs{"first", "good", "last"} do
  config.app(c, name, require("reporting")[name])
end
config.app(c, "source", basic.Source)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> sink.input")
%s
engine.configure(c)
engine.main{duration = 0.1}
"""

REPORTS = """
local function class(report)
  return {new = function() return {report = report} end}
end
return {first = class(function() error("nothing to say") end),
        good = class(function() print("all is well") end),
        last = class(function() error() end)}
"""


@pytest.mark.parametrize("placed", ["", """
  for _, app in ipairs{"first", "good", "last"} do config.cpu(c, app, 0) end"""])
def test_a_report_that_fails_loses_nothing_else(tmp_path, placed):
    (tmp_path / "reporting.lua").write_text(REPORTS)
    script = tmp_path / "script.lua"
    script.write_text(f"package.path = '{tmp_path}/?.lua;' .. package.path\n"
                      + REPORTING % placed)
    result = perigee("run", script)
    assert result.returncode == 1
    assert "all is well" in result.stdout
    assert "packets: received" in result.stdout and "load: " in result.stdout
    first, last = sentences(result.stderr)
    assert re.search(r"app 'first': in report\(\): .*: nothing to say", first)
    assert "app 'last': in report(): an error that is no text: nil" in last


@pytest.mark.parametrize("mb", [20, 48])
def test_little_memory_means_fewer_packets(mb):
    """What a process finds when others have taken the hugepages meanwhile. It runs with
    what there is; who needs more hears why there is no more."""
    memory = "--eal", f"--no-huge -m {mb}"
    result = perigee(*memory, "echo", "null", 1, 0.1)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    result = perigee(*memory, "snsh", "-e", "local packet = require('core.packet') "
                     "for _ = 1, 8000 do packet.allocate() end")
    assert result.returncode == 1
    assert re.search(r"^perigee: the packet pool is empty: all of its \d+ packets are in use "
                     r".*; memory is short: give DPDK more MB", result.stderr, re.M)


def test_too_little_memory_is_told():
    result = perigee("--eal", "--no-huge -m 12", "echo", "null", 1, 0.1)
    assert result.returncode == 1
    assert re.search(r"^perigee: app 'port': no memory for 512 more packets.*; ask for fewer",
                     result.stderr, re.M)


# Output that nobody can keep ----------------------------------------------------

FULL = "/dev/full"


@pytest.mark.parametrize("args", [
    ["proto"], ["ports", "--json"], ["--help"], ["--version"], ["generate", "--help"],
    ["echo", "null", 1, "10ms"],
    ["generate", "--port", "null", "--count", 10, "--json", "-"],
    ["snsh", "-e", "print(1) io.stdout:flush() print(2) os.exit(0)"],
])
def test_output_to_a_full_disk(args):
    with open(FULL, "w", encoding="ascii") as full:
        result = perigee(*args, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert result.returncode == 1
    assert re.search("^perigee: standard output can't be written", result.stderr,
                     re.MULTILINE), result.stderr
    assert len(sentences(result.stderr)) == 1


def test_output_to_a_closed_descriptor():
    result = run("sh", "-c", f"{PERIGEE} proto >&-")
    assert result.returncode == 1
    assert "standard output can't be written: Bad file descriptor" in result.stderr


@pytest.mark.parametrize("args", [
    ["generate", "--port", "null", "--count", 10, "--json", FULL],
    ["loadtest", "find-limit", "-D", "10ms", "--warm-up", 0, "--wait", 0, "-b", "1e6",
     "-p", "1e6", "-e", "true", "--sizes", 60, "--json", FULL, "ring:x"],
    ["loadtest", "transient", "-D", "10ms", "--warm-up", 0, "-b", "1e6", "--bench-file",
     FULL, "in.pcap", "null"],
])
def test_results_to_a_full_disk(args, tmp_path):
    save(tmp_path / "in.pcap", [bytes(60)])
    result = perigee(*args, cwd=tmp_path)
    assert result.returncode == 1
    assert sentences(result.stderr) == [
        f"perigee: can't write {FULL}: No space left on device"]
