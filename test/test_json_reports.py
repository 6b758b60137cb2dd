# SPDX-License-Identifier: Apache-2.0
"""Reports as JSON, which are as doc/reports.schema.json says, and one spelling of times
and rates in all programs."""

import json
import re
import signal

import jsonschema
import pytest

from helpers.capture import load, save
from helpers.command import PERIGEE, perigee, running, wait_until
from helpers.control import wait_for_socket
from helpers.schema import SCHEMA, valid

FRAME = bytes(12) + b"\x08\0" + bytes(46)

def balance(packets):
    here = packets["in_links"] + packets["in_rings"] + packets["held"]
    return packets["received"] + packets["allocated"] - packets["sent"] \
        - packets["freed"] - packets["port_drops"] - here


def test_echo(tmp_path):
    source = save(tmp_path / "in.pcap", [FRAME] * 300)
    result = perigee("echo", f"pcap:rx={source},tx={tmp_path}/out.pcap", "2", "--json", "-")
    report = json.loads(result.stdout)
    assert report["packets"]["received"] == report["packets"]["sent"] == 300
    assert balance(report["packets"]) == 0
    assert report["links"]["fwd1.output -> fwd2.input"]["rxpackets"] == 300
    result = perigee("echo", "null:size=60", "--duration", "50ms", "--json",
                     tmp_path / "a.json")
    assert "packets: received" in result.stdout
    assert balance(json.loads((tmp_path / "a.json").read_text())["packets"]) == 0


def test_replay_and_capture(tmp_path):
    source = save(tmp_path / "in.pcap", [FRAME] * 50)
    result = perigee("replay", source, f"pcap:tx={tmp_path}/out.pcap", "--topspeed",
                     "--json", "-")
    report = json.loads(result.stdout)
    assert report["replay"]["packets"] == report["packets"]["sent"] == 50
    assert report["links"]["source.output -> port.input"]["txpackets"] == 50
    result = perigee("capture", "null:size=60", tmp_path / "c.pcap", "--limit", "20",
                     "--json", "-")
    report = json.loads(result.stdout)
    assert report["written"] == len(list(load(tmp_path / "c.pcap"))) == 20
    result = perigee("capture", "@1:dropped", "-", "--json", "-")
    assert result.returncode == 2 and "--json" in result.stderr


@pytest.mark.fast
@pytest.mark.parametrize("words", [
    ["echo", "null:size=60"], ["generate", "--port", "null", "--rate", "1kpps"],
    ["connect", "both", "--clients", "10.0.0.1", "--servers", "10.0.1.1", "--rate", "100"]])
def test_older_results_are_gone_when_a_run_begins(words, tmp_path):
    """So that who interrupts it doesn't take them for its own."""
    path = tmp_path / "found.json"
    path.write_text("older")
    assert perigee(*words, "--json", path, "--nonsense").returncode == 2
    assert path.read_text() == "older"
    refused = ["packet:nosuch" if word.startswith("null") else word for word in words]
    if refused != words:
        assert perigee(*refused, "--json", path).returncode != 0
        assert path.read_text() == "older"
    with running(PERIGEE, *words, "--json", path) as process:
        process.wait_for_engine()
        wait_until(lambda: path.read_text() == "", "an empty file")
        process.send(signal.SIGKILL)
        process.process.wait()
    assert path.read_text() == ""


@pytest.mark.parametrize("words", [
    ("echo", "null", "--json"), ("generate", "--port", "null", "--json"),
    ("generate", "--receive", "null", "--histogram"), ("capture", "null", "f", "--json"),
    ("loadtest", "find-limit", "--sizes", "60", "null", "--json"),
    ("loadtest", "mlrsearch", "--sizes", "60", "null", "--json"),
    ("loadtest", "rfc2544", "null", "--page"), ("doctor", "--json"),
    ("loadtest", "transient", "f", "null", "--json"), ("model", "check", "--json")])
def test_what_cannot_be_written_is_told_at_once(words, tmp_path):
    for path in tmp_path / "none" / "results", tmp_path:
        result = perigee(*words, path)
        assert result.returncode == 2
        assert f"{words[-1]}: '{path}' can't be written: give a file in a folder that is " \
            "there, and that you may write to" in result.stderr, result.stderr


@pytest.mark.parametrize("words", [
    ("echo", "null", "--duration"), ("firehose", "-i", "null", "--duration"),
    ("replay", "f", "null", "--duration"), ("capture", "null", "f", "--duration"),
    ("generate", "--port", "null", "--duration"), ("vtep", "--duration"),
    ("doctor", "--duration")])
def test_times_are_spelt_alike(words):
    result = perigee(*words, "5parsecs")
    assert result.returncode == 2
    assert "'5parsecs' isn't a duration in seconds, or such as 500ms, 2m, 1h" in \
        result.stderr, result.stderr


@pytest.mark.parametrize("words", [("replay", "f", "null"),
                                   ("generate", "--port", "null")])
def test_rates_are_spelt_alike(words):
    result = perigee(*words, "--rate", "fast")
    assert result.returncode == 2
    assert "'fast' isn't a rate such as 500kpps, 1.5Mpps, 100Mbit or 10Gbit" in \
        result.stderr, result.stderr


# The schema -----------------------------------------------------------------------


@pytest.mark.fast
def test_the_schema_is_one_and_closed():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        valid("echo", '{"packets": {}, "links": {}, "apps": {}, "more": 1}')
    for report in {}, [1], 7, "text", None, {"packets": 1}, {"received": {}}:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(SCHEMA).validate(report)


STREAMS = ["--stream", "eth,ip4,udp;name=a", "--stream", "eth,ip6,udp;name=b"]
QUICK = ["-D", "20ms", "--warm-up", "0", "-b", "20M", "-p", "10M"]
REPORTS = [
    ("echo", "echo null --duration 50ms --json -"),
    ("capture", "capture null:size=60 c.pcap --limit 20 --json -"),
    ("record", "record pcap:rx=in.pcap --when ip --json -"),
    ("replay", "replay in.pcap null --topspeed --json -"),
    ("generate", "generate --port null --rate 20kpps --count 200 --json -"),
    ("generate", "generate --port ring:a --receive ring:a --count 200 --json -"),
    ("generate", "generate --receive pcap:rx=in.pcap --json -"),
    ("generate", ["generate", "--port", "ring:a", "--receive", "ring:a", "--both",
                  "--count", "200", "--json", "-", *STREAMS]),
    ("connect", ["connect", "both", "--clients", "10.0.0.1", "--servers", "10.0.0.2",
                 "--count", "20", "--json", "-"]),
    ("find-limit", ["loadtest", "find-limit", *QUICK, "--sizes", "60", "-r", "0",
                    "--json", "-", *"A B ring:x B A ring:x".split()]),
    ("mlrsearch", ["loadtest", "mlrsearch", "-D", "20ms", "--warm-up", "0", "-b", "2M",
                   "--duration-sum", "40ms", "--width", "10", "--sizes", "60",
                   "--json", "-", *"A B ring:x B A ring:x".split()]),
    ("rfc2544", ["loadtest", "rfc2544", "--quick", *QUICK, "--sizes", "60",
                 "--latency-duration", "20ms", "--burst-duration", "10ms", "--json", "-",
                 *"A B ring:x B - ring:x".split()]),
    ("rfc2544", ["loadtest", "rfc2544", "--quick", *QUICK, "--sizes", "60", "--tests",
                 "throughput,latency", "--wait", "0", "--json", "-", "null"]),
    ("transient", "loadtest transient -D 20ms --warm-up 0 -b 2e6 --json /dev/stderr "
     "in.pcap null"),
    ("doctor", "doctor --duration 500ms --json - echo null"),
    ("model-predict", "model predict --task 100 --io 50 --ghz 2.5 --json"),
    ("model-predict", "model predict --task 100 --io 50 --ghz 2.5 --line 10G --json"),
    ("model-check", "model check --duration 200ms --rounds 1 --limit 1000 --json - echo "
     "null"),
    ("plan", "plan --json echo null 3"), ("ports", "ports --json"), ("ps", "ps --json"),
]


@pytest.mark.parametrize("words", [
    ["--port", "ring:a", "--receive", "ring:a", *STREAMS],
    ["--port", "ring:a", "--receive", "ring:a", "--both", "--rate", "1kpps"],
    ["--port", "null"], ["--receive", "null"]])
def test_lines_of_json_tell_how_far_it_is(words):
    result = perigee("generate", "--duration", "2.5", "--json-lines", "-", *words)
    assert result.returncode == 0, result.stderr
    *lines, last = result.stdout.splitlines()
    reports = [valid("generate-progress", line)["progress"] for line in lines]
    results = valid("generate", last)
    times = [report["seconds"] for report in reports]
    assert times == sorted(times) and 1 <= len(times) <= times[-1] + 1  # each second
    for kind in "sent", "received":
        counts = [counted(report, kind) for report in [*reports, results]]
        assert counts == sorted(counts)
        assert bool(counts[0]) == bool(results.get("directions") or kind in results)


def counted(report, kind):
    return sum(d[kind]["packets"] for d in report.get("directions", [report]) if kind in d)


@pytest.mark.parametrize("name, words", REPORTS)
def test_reports_are_as_the_schema_says(name, words, tmp_path):
    save(tmp_path / "in.pcap", [FRAME] * 50)
    words = words.split() if isinstance(words, str) else words
    result = perigee(*words, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    valid(name, result.stderr if "/dev/stderr" in words else result.stdout)


def test_reports_of_a_running_graph(tmp_path):
    with running(PERIGEE, "echo", "null", "3") as process:
        wait_for_socket(process)
        process.wait_for_engine()
        pid = str(process.pid)
        valid("shm", perigee("shm", "--json", pid).stdout)
        [instance] = json.loads(perigee("top", "--once", "--json", pid).stdout)
        valid("top", json.dumps(instance))
        for line in perigee("trace", "--json", "--count", "2", pid).stdout.splitlines():
            valid("trace", line)


SLOW = """
local Slow = {}
Slow.__index = Slow
function Slow:new() return setmetatable({}, Slow) end
function Slow:process(p)
  self.last = string.gsub('abc', 'b', function (x) return x end)
  return p
end
local c = config.new()
config.app(c, "port", require("apps.port.port").Port, "null")
config.app(c, "slow", Slow)
config.link(c, "port.output -> slow.input")
config.link(c, "slow.output -> port.input")
engine.configure(c)
engine.main{duration = 10}
"""


def test_the_doctor_tells_what_is_to_blame(tmp_path):
    script = tmp_path / "slow.lua"
    script.write_text(SLOW)
    result = perigee("doctor", "--duration", "3", "--json", tmp_path / "found", "run",
                     script)
    assert result.returncode == 1 and "not clean" in result.stdout
    found = valid("doctor", (tmp_path / "found").read_text())
    assert not found["clean"]
    [cause] = [c for c in found["causes"] if "FNEW" in c["reason"]]
    assert (cause["file"], cause["line"]) == (str(script), 6)
    assert cause["apps"] == ["slow"] and "outside" in cause["remedy"]
    assert found["profile"]["samples"] >= max(
        part["samples"] for part in found["profile"]["parts"].values())
    assert cause["source"].startswith("self.last = string.gsub")


def test_interfaces_that_are_up_and_who_has_them(pair):
    """Those that AF_XDP drives are also ports of another kind."""
    here, _ = pair
    with running(*here.command(PERIGEE, "echo", "packet:left", 1)) as program:
        program.wait_for_engine()
        result = here.run(PERIGEE, "ports", "--json")
        assert result.returncode == 0, result.stderr
        entries = {e["port"]: e for e in valid("ports", result.stdout)["interfaces"]}
        assert program.pid in [p["pid"] for p in entries["packet:left"]["processes"]]


def test_one_option_for_a_number_of_packets():
    for program in "trace", "capture", "generate":
        page = perigee(program, "--help").stdout
        assert re.search(r"-c,? .*--count", page), f"{program}: {page}"
