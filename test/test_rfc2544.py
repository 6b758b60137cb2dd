# SPDX-License-Identifier: Apache-2.0
"""loadtest rfc2544 against a device under test whose limit is known, and what it keeps
when it is stopped, or a file takes no more."""

import json
import os
import re
import signal
import subprocess
from html.parser import HTMLParser

import pytest

from helpers.command import PERIGEE, perigee, run, running, wait_until
from helpers.device import device
from helpers.schema import valid


def balanced(html):
    """Is every element of the page closed, and nothing in it from elsewhere?"""
    class Reader(HTMLParser):
        open = []

        def handle_starttag(self, tag, attributes):
            assert tag not in ("script", "link", "img", "iframe")
            assert not {"src", "href"} & {name for name, _ in attributes}
            if tag != "meta":
                self.open.append(tag)

        def handle_startendtag(self, tag, attributes):
            assert tag in ("circle", "polyline", "line", "rect")

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader.open == []


def four_tests(folder, limit):
    """All tests of a device with that limit: what was printed, and the report."""
    report = folder / "found.json"
    with running(*device(folder, limit, f"memif:{folder}/m.sock,role=server")) as dut:
        dut.wait_for_engine()
        result = perigee(
            "--results", "loadtest", "rfc2544", "--quick", "-D", "50ms",
            "--latency-duration", "100ms", "--burst-duration", "50ms", "--bursts", "2",
            "--warm-up", "50ms", "--wait", "50ms", "-b", "200M", "-p", "20M",
            "--sizes", "252", "--json", report, "--page", folder / "found.html",
            "--histogram", folder / "log", f"memif:{folder}/m.sock,role=client")
    assert result.returncode == 0, result.stdout + result.stderr
    return result, json.loads(report.read_text())


def test_does_all_four_tests(tmp_path):
    limit, line = 50e6, 200e6
    result, found = four_tests(tmp_path, limit)
    assert [r["frame"] for r in found["results"]] == [256]
    for r in found["results"]:
        throughput = r["throughput"]
        assert r["line_pps"] == pytest.approx(line / 8 / (r["size"] + 24))
        assert throughput["limit"] <= 1.25 * limit, result.stdout
        # A device that doesn't get its CPU for a while loses packets at any rate. How the
        # limit is found is in loadtest_spec.lua; here, that it is the highest that passed.
        assert throughput["limit"] == max(
            (t["rate"] for t in throughput["trials"] if t["passed"]), default=0)
        assert throughput["pps"] == pytest.approx(throughput["limit"] / 8
                                                  / (r["size"] + 24))
        if throughput["limit"] > 0:
            [[trial]] = r["latency"]["trials"]
            assert trial["numbered"] == trial["rx"] > 0
            seen = r["latency"]["summary"]
            assert 0 < seen["min"] <= seen["median"] <= seen["p99"] <= seen["max"]
            assert r["latency"]["mean"] == pytest.approx(trial["latency"]["mean"])
        # Of four times the limit three quarters are lost, but for what is let through.
        first = r["loss"][0]
        assert first["rate"] == line and first["loss"] == pytest.approx(
            first["lost"] / first["tx"])
        if first["kept"]:
            assert 0.4 < first["loss"] < 0.9, result.stdout
        assert len(r["back_to_back"]["trials"]) == 2
        # What the device lets through at once is 20 ms of its limit.
        frames = (limit * 0.05 + limit * 0.02) / 8 / (r["size"] + 24)
        assert r["back_to_back"]["frames"] <= 1.2 * frames
    assert re.search(r"^RESULT-LIMIT \d", result.stdout, re.M)
    assert re.search(r"^RESULT-BURST \d", result.stdout, re.M)
    logged = (tmp_path / "log").read_text().count("\nTag=256-NIC,0.000,0.100,")
    assert logged == (found["results"][0]["throughput"]["limit"] > 0)
    text = (tmp_path / "found.html").read_text()
    assert balanced(text) and text.count("<svg") >= 3


def test_keeps_what_there_is(tmp_path):
    """Ctrl-C in the second size: the first is in the files."""
    report = tmp_path / "found.json"
    with running(PERIGEE, "loadtest", "rfc2544", "--quick", "-D", "20ms", "--tests",
                 "throughput", "--warm-up", "10ms", "--wait", "0", "-b", "10M", "--sizes",
                 "60,124,252", "--pause", "300ms", "--json", report, "null") as process:
        wait_until(report.exists, "the first size")
        assert process.interrupt(signal.SIGINT) != 0
    assert "SIGINT" in process.said
    assert json.loads(report.read_text())["results"][0]["size"] == 60


def test_prints_what_there_is():
    """Ctrl-C between two tests of the first size, with the results to standard output."""
    process = subprocess.Popen(
        [PERIGEE, "loadtest", "rfc2544", "--quick", "-D", "20ms", "--tests",
         "throughput,loss", "--warm-up", "0", "--wait", "0", "-b", "10M", "-p", "10M",
         "--sizes", "60,124", "--pause", "20s", "--json", "-", "null"],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        said = ""
        while not said.endswith("of the line.\n"):
            line = process.stderr.readline()
            assert line, said
            said += line
        process.send_signal(signal.SIGINT)
        out, more = process.communicate(timeout=60)
    assert process.returncode == 1
    found = valid("rfc2544", out)
    assert found["stopped"] == "stopped by SIGINT before the end"
    [result] = found["results"]
    assert result["size"] == 60 and "throughput" in result and "loss" not in result
    assert "back to back\n" in more


def test_survives_a_full_disk(tmp_path):
    """What one file can't take, the others do, and the tests go on."""
    report = tmp_path / "found.json"
    result = perigee("loadtest", "rfc2544", "--quick", "-D", "20ms", "--tests",
                     "throughput", "--warm-up", "0", "--wait", "0", "-b", "10M", "-p",
                     "10M", "--sizes", "60,124", "--page", "/dev/full", "--json", report,
                     "null")
    assert result.returncode == 1
    problem = "can't write /dev/full: No space left on device"
    assert result.stdout.count(f"{problem}; the tests go on.\n") == 1
    assert result.stderr == f"perigee: {problem}\n"
    assert [r["size"] for r in json.loads(report.read_text())["results"]] == [60, 124]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_keeps_what_a_full_disk_has(tmp_path):
    disk, copy = tmp_path / "disk", tmp_path / "copy"
    disk.mkdir()
    script = f"""mount -t tmpfs -o size=12k tmpfs {disk} || exit 99
        {PERIGEE} loadtest rfc2544 --quick -D 10ms --tests throughput --warm-up 0 \\
          --wait 0 -b 10M -p 10M --sizes {",".join(map(str, range(60, 80)))} \\
          --json {disk}/found null
        status=$?; cp -r {disk} {copy}; exit $status"""
    result = run("unshare", "-m", "sh", "-c", script)
    assert result.returncode == 1
    assert f"can't write {disk}/found: No space left on device" in result.stderr
    assert [path.name for path in copy.iterdir()] == ["found"]
    assert 0 < len(json.loads((copy / "found").read_text())["results"]) < 20
