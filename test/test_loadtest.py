# SPDX-License-Identifier: Apache-2.0
"""loadtest against devices under test whose limit is known, in processes of their own.
(loadtest rfc2544: test_rfc2544.py.)"""

import csv
import json
import re
import signal
import time

import pytest
from scapy.all import IP, UDP, Ether, wrpcap

from helpers.command import PERIGEE, perigee, running, wait_until
from helpers.device import device
from helpers.network import veth


@pytest.fixture
def capture(tmp_path):
    """A file of packets of several sizes."""
    path = tmp_path / "load.pcap"
    wrpcap(str(path), [Ether(dst="02:00:00:00:00:02") / IP(dst="198.18.0.1") / UDP()
                       / bytes(n) for n in (18, 200, 500, 1000)])
    return path


SECONDS = 0.2  # of a trial
QUICK = ["-r", "0", "-D", SECONDS, "--warm-up", SECONDS, "--wait", "2"]
PATIENCE_S = 300  # trials that lose packets wait, and void ones are made again


def find_limit(tmp_path, *args, run=perigee):
    path = tmp_path / "found.json"
    result = run("loadtest", "find-limit", *QUICK, "--json", path, *args,
                 timeout=PATIENCE_S)
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(path.read_text()), result.stdout


def patient_device(tmp_path, limit, *ports):
    """A device that gets its CPU when it may: its ports hold what comes meanwhile, and it
    lets through at once what it would in a trial. So it loses nothing up to the limit,
    and passes no more than twice the limit, and what comes while it is late."""
    return running(*map(str, device(tmp_path, limit, *ports, burst=SECONDS)))


def assert_found(limit, result, said):
    """It may be lower only if the reason was that this process didn't get its CPU: then
    loadtest has said so."""
    found = result.get("limit", 0)
    assert found >= 0.5 * limit or result["machine"], said
    assert found <= 4 * limit, said


def test_finds_the_limit_of_another_process(capture, tmp_path):
    limit = 4e6
    with patient_device(tmp_path, limit, f"memif:{tmp_path}/m.sock,role=server") as dut:
        dut.wait_for_engine()
        found, said = find_limit(tmp_path, "-b", "32e6", "-p", "1e6", capture,
                                 f"memif:{tmp_path}/m.sock,role=client")
    [result] = found["results"]
    assert_found(limit, result, said)
    if "limit" in result:
        assert said.rstrip().endswith(f"{result['limit'] / 1e9:g} Gbps")
    trials = result["trials"]
    assert trials[0]["rate"] == 32e6 and not trials[0]["passed"]
    assert all(re.match("packets were lost|the rate was not kept|not measurable at this",
                        t["reason"]) for t in trials if not t["passed"])
    passed = [t["rate"] for t in trials if t["passed"]]
    assert result.get("limit", 0) == max(passed, default=0)
    for stream in result.get("streams", []):
        assert stream["lost"] == 0 and stream["tx"] == stream["rx"] > 0
        assert stream["tx_bytes"] == stream["rx_bytes"]
        assert stream["tx_rate"] == pytest.approx(result["limit"], rel=0.05)


def test_tolerates_the_loss_that_is_allowed(tmp_path):
    # Of twice the limit half is lost.
    limit = 1e6
    with patient_device(tmp_path, limit, f"memif:{tmp_path}/m.sock,role=server") as dut:
        dut.wait_for_engine()
        found, said = find_limit(tmp_path, "-b", "16e6", "-p", "1e6", "--loss", "50",
                                 "--sizes", "60,1514",
                                 f"memif:{tmp_path}/m.sock,role=client")
    assert [r["size"] for r in found["results"]] == [60, 1514]
    for result in found["results"]:
        assert_found(2 * limit, result, said)


def test_finds_the_limit_between_two_interfaces(capture, tmp_path, namespace):
    here, there = namespace("a"), namespace("b")
    veth(here, "v0", there, "w0")
    veth(here, "v1", there, "w1")
    limit = 4e6
    command = there.command(*map(str, device(tmp_path, limit, "packet:w0",
                                             "packet:w1", burst=SECONDS)))
    with running(*command) as dut:
        dut.wait_for_engine()
        found, said = find_limit(
            tmp_path, "-b", "32e6", "-p", "1e6", capture, "out", "in", "packet:v0",
            "-", "in", "-", "packet:v1",
            run=lambda *args, **how: here.run(PERIGEE, *map(str, args), **how))
    [result] = found["results"]
    assert_found(limit, result, said)
    assert all(stream["name"] == "out" for stream in result.get("streams", []))


def test_asks_the_command_that_it_is_given(tmp_path, capture):
    marks = tmp_path / "marks"
    found, _ = find_limit(
        tmp_path, "-b", "40e6", "-p", "10e6", "-r", "0", "-e",
        f"echo x >> {marks}; test $(wc -l < {marks}) -ne 1", capture, "null")
    # The first, the highest, fails by the command; the others pass.
    assert found["results"][0]["limit"] == 30e6
    assert len(marks.read_text().split()) == len(found["results"][0]["trials"]) == 3


@pytest.mark.parametrize("command, status", [("/no/such/command", 127), ("/", 126)])
def test_a_command_that_cannot_be_run_ends_it(tmp_path, capture, command, status):
    result = perigee("loadtest", "find-limit", *QUICK, "-e", command, capture, "null")
    assert result.returncode == 1
    assert f"--exec: the shell can't run the command '{command}': it ends with {status}" \
        in result.stderr


def test_find_limit_writes_json_alone_to_stdout(capture):
    result = perigee("loadtest", "find-limit", *QUICK, "-b", "10e6", "-p", "10e6",
                     "-e", "true", "--json", "-", capture, "null")
    assert json.loads(result.stdout)["results"][0]["limit"] == 10e6
    assert "Applying 0.010000 Gbps of load.\n" in result.stderr


def test_transient_goes_through_the_rates(capture, tmp_path):
    bench, results = tmp_path / "bench.csv", tmp_path / "results.json"
    result = perigee("loadtest", "transient", "-D", "100ms", "--warm-up", "100ms",
                     "-b", "30e6", "-s", "10e6", "--bench-file", bench, "--json", results,
                     capture, "A", "B", "ring:x", capture, "B", "A", "ring:x")
    assert result.returncode == 0, result.stderr
    rows = list(csv.DictReader(bench.open()))
    rates = [0.01, 0.02, 0.03, 0.03, 0.02, 0.01]
    assert [float(row["load_gbps"]) for row in rows[::2]] == rates
    assert [row["stream"] for row in rows] == ["A", "B"] * 6
    for row in rows:
        assert row["tx_packets"] == row["rx_packets"] != "0"
        assert row["lost_packets"] == row["ingress_drop"] == "0"
        assert row["tx_bytes"] == row["rx_bytes"]
    assert [r["rate"] / 1e9 for r in json.loads(results.read_text())] == rates


def test_transient_for_hydra(capture, tmp_path):
    bench = tmp_path / "bench.csv"
    result = perigee("loadtest", "transient", "-D", "50ms", "--warm-up", "0", "-b", "1e9",
                     "-s", "1e9", "-p", "ramp_up", "-y", "--bench-file", bench, capture,
                     "null")
    assert result.returncode == 0, result.stderr
    rows = list(csv.reader(bench.open()))
    assert rows[0] == ["benchmark", "id", "score", "unit"]
    assert [row[0] for row in rows[1:]] == [
        "NIC_rx_mpps", "NIC_rx_gbps", "NIC_ingress_drop", "NIC_lost_percent"]


def test_constant_load_goes_on_until_it_is_stopped(capture):
    with running(PERIGEE, "loadtest", "transient", "-p", "constant", "-D", "50ms",
                 "--warm-up", "0", "-b", "1e7", capture, "null") as process:
        wait_until(lambda: process.read() and process.said.count("    Loss:") > 2,
                   "a few trials")
        assert process.interrupt() == 1
        assert "stopped by SIGINT before the end" in process.said


def test_a_signal_between_trials_stops_the_next(tmp_path):
    script = tmp_path / "between.lua"
    script.write_text("""
        local signal, unistd = require("posix.signal"), require("posix.unistd")
        local tester = require("program.loadtest.tester")
        local streams = require("program.loadtest.streams")
        local t = tester.new(streams.parse({"ring:x"}, false), 60)
        local ok, problem = pcall(tester.together, function ()
          signal.kill(unistd.getpid(), signal.SIGINT)
          t:trial(1e6, 5, 0)
        end)
        assert(not ok)
        print(problem)
    """)
    result = perigee("run", script)
    assert result.returncode == 0, result.stderr
    assert "stopped by SIGINT before the end" in result.stdout


def test_a_machine_that_stalls_is_not_taken_for_the_device(tmp_path):
    """It is stopped again and again: no trial keeps its rate, and the device, a ring
    that loses nothing, isn't blamed."""
    results = tmp_path / "results.json"
    with running(PERIGEE, "loadtest", "find-limit", "-D", "100ms", "--warm-up", "0",
                 "--wait", "10ms", "-r", "0", "-b", "10e6", "-p", "10e6", "--json",
                 results, "--sizes", "60", "ring:x") as process:
        process.wait_for("Applying")
        while process.read(0.03):
            process.send(signal.SIGSTOP)
            time.sleep(0.03)
            process.send(signal.SIGCONT)
        assert process.finish() == 0, process.said
    why = "not measurable at this rate here, because this machine (was|took nothing)"
    assert re.search(f"^Void: {why}.* Again.$", process.said, re.MULTILINE), process.said
    assert re.search(f"^Failed: {why}", process.said, re.MULTILINE), process.said
    assert re.search(f"^0.01 Gbps: {why}", process.said, re.MULTILINE), process.said
    assert "No limit was found: no rate could be measured that passes." in process.said
    [result] = json.loads(results.read_text())["results"]
    # What can't be measured isn't 0.
    assert result["machine"] and "limit" not in result, process.said
    assert re.match(why, result["reason"]), process.said
    assert len(result["trials"]) == 4 and all(t["late"] > 0.01 for t in result["trials"])


def test_what_find_limit_knows_is_kept_when_it_is_stopped(tmp_path):
    results = tmp_path / "results.json"
    with running(PERIGEE, "loadtest", "find-limit", "-D", "100ms", "--warm-up", "0", "-e",
                 "test -e passes", "-r", "0", "-b", "10e6", "-p", "10e3", "--json",
                 results, "--sizes", "60,1514", "null", cwd=tmp_path) as process:
        process.wait_for("Failed: the command said so")
        (tmp_path / "passes").touch()
        process.wait_for("Success", count=2)
        assert process.interrupt() == 1
        said = process.said
    assert "stopped by SIGINT before the end" in said
    [result] = json.loads(results.read_text())["results"]
    assert result["stopped"].endswith("stopped by SIGINT before the end"), said
    assert result["limit"] == max(t["rate"] for t in result["trials"] if t["passed"])
    assert f"Stopped. The limit is at least {result['limit'] / 1e9:g} Gbps.\n" in said


# MLRsearch ------------------------------------------------------------------------

MLR = ["-D", SECONDS, "--warm-up", SECONDS, "--wait", "2", "--duration-sum", 3 * SECONDS,
       "--width", "5"]


def mlrsearch(tmp_path, *args):
    path = tmp_path / "found.json"
    result = perigee("loadtest", "mlrsearch", *MLR, "--json", path, *args,
                     timeout=PATIENCE_S)
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(path.read_text()), result.stdout


def test_mlrsearch_finds_both_limits_of_another_process(tmp_path):
    """As patient_device(): it passes its limit at least, and no more than twice that."""
    limit = 2e6
    with patient_device(tmp_path, limit, f"memif:{tmp_path}/m.sock,role=server") as dut:
        dut.wait_for_engine()
        found, said = mlrsearch(tmp_path, "-b", "32e6", "--min", "1e5", "--sizes", "60",
                                "--results", f"memif:{tmp_path}/m.sock,role=client")
    [result] = found["results"]
    ndr, pdr = result["goals"]
    assert [ndr["name"], pdr["name"]] == ["NDR", "PDR"]
    assert [ndr["loss_ratio"], pdr["loss_ratio"]] == [0, 0.005]
    for goal in ndr, pdr:
        assert goal.get("lower", 0) >= 0.5 * limit or "reason" in goal, said
        assert goal.get("lower", 0) <= 4 * limit, said
        if "lower" in goal and "upper" in goal:
            assert goal["upper"] > goal["lower"] > 0
            assert goal["width"] <= 0.05 + 1e-6, said
            assert goal["conditional_throughput"] <= goal["lower"], said
            assert f"RESULT-{goal['name']}" in said, said


def test_mlrsearch_says_that_the_highest_rate_passes(tmp_path):
    # Each of two ports gets what the other sends: nothing is lost, as long as this
    # process gets its CPU.
    found, said = mlrsearch(tmp_path, "-b", "1e6", "--loss", "0,10", "--sizes", "60",
                            "A", "B", "ring:x", "B", "A", "ring:x")
    for goal, name in zip(found["results"][0]["goals"], ["NDR", "loss 10 %"]):
        assert goal["name"] == name
        if goal.get("lower") == 1e6:
            assert "upper" not in goal and f"{name}: 1.000 Mbit/s or more, " in said, said
            assert goal["conditional_throughput"] == pytest.approx(1e6, rel=0.1), said
        else:
            assert "reason" in goal, said


def test_what_mlrsearch_knows_is_kept_when_it_is_stopped(tmp_path):
    results = tmp_path / "results.json"
    with running(PERIGEE, "loadtest", "mlrsearch", "-D", "100ms", "--warm-up", "0", "-b",
                 "10e6", "--json", results, "--sizes", "60", "null") as process:
        process.wait_for(" lost, bursts of up to ", count=2)
        assert process.interrupt() == 1
        said = process.said
    assert "Stopped. What is known:\nNDR: " in said
    [result] = json.loads(results.read_text())["results"]
    assert result["stopped"].endswith("stopped by SIGINT before the end"), said
    assert len(result["trials"]) >= 2 and len(result["goals"]) == 2, said


@pytest.mark.parametrize("args, sentence", [
    (["mlrsearch", "-b", "1e6", "--min", "2e6", "--sizes", "60", "null"],
     "--min 2e+06: it must be above 0 and below the highest rate, 1e+06"),
    (["mlrsearch", "--loss", "0,100", "--sizes", "60", "null"], "'100' lets everything"),
    (["mlrsearch", "--loss", "x", "--sizes", "60", "null"], "'x' isn't a number"),
    (["mlrsearch", "--exceed", "100", "--sizes", "60", "null"], "--exceed 100: it must"),
    (["mlrsearch", "--width", "0", "--sizes", "60", "null"], "--width 0: the bounds"),
    ([], "missing argument"), (["up"], "must be one of"),
    (["find-limit"], "give FILE PORT, or groups"),
    (["find-limit", "--sizes", "10", "null"], "sizes: '10' isn't a whole number"),
    (["find-limit", "-b", "fast", "a", "b"], "bitrate: 'fast' isn't a rate"),
    (["find-limit", "-D", "0", "--sizes", "60", "null"], "a trial takes some time"),
    (["transient", "-p", "up", "a", "b"], "must be one of 'ramp_up'"),
    (["transient", "/nonexistent.pcap", "null"], "/nonexistent.pcap"),
])
def test_says_what_is_wrong(args, sentence):
    result = perigee("loadtest", *args)
    assert result.returncode in (1, 2)
    assert sentence in result.stderr
