# SPDX-License-Identifier: Apache-2.0
"""generate between two machines: latencies by clocks that differ by an offset that the tests
make up, how far they may be wrong, and half of the round trip."""

import ctypes
import os

import pytest

from helpers.command import PERIGEE, perigee, run, running
from helpers.generate import generated, rebuilt
from helpers.network import Namespace, veth
from helpers.schema import valid

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes interfaces")
COUNT = 200
CHRONY = ("C0000201,192.0.2.1,2,1795862223.5,-0.000010,0.000001,0.000020,-1.5,-0.5,1.5,"
          "0.002000,0.000300,64.2,Normal")
STA_UNSYNC = 0x40  # <sys/timex.h>


class Timex(ctypes.Structure):
    _fields_ = [("modes", ctypes.c_uint), ("offset", ctypes.c_long),
                ("freq", ctypes.c_long), ("maxerror", ctypes.c_long),
                ("esterror", ctypes.c_long), ("status", ctypes.c_int),
                ("others", ctypes.c_char * 256)]


def kernel_keeps_time():
    timex = Timex()
    assert ctypes.CDLL(None).adjtimex(ctypes.byref(timex)) >= 0
    return not timex.status & STA_UNSYNC


@pytest.fixture
def machines():
    """Two namespaces, whose interfaces `one` and `two` are joined."""
    here, there = Namespace("a"), Namespace("b")
    try:
        veth(here, "one", there, "two")
        yield here, there
    finally:
        here.remove()
        there.remove()


def one_way(machines, tmp_path, sender, receiver, **kwargs):
    """The receiver's report of packets from one to two, and what both have said."""
    here, there = machines
    report = tmp_path / "report"
    with running(*there.command(PERIGEE, "generate", "--receive", "packet:two", "--count",
                                COUNT, "--json", report, *receiver), **kwargs) as process:
        process.wait_for_engine()
        sent = run(*here.command(PERIGEE, "generate", "--port", "packet:one", "--rate",
                                 "2kpps", "--count", COUNT, "--json", "-", *sender),
                   **kwargs)
        assert sent.returncode == 0, sent.stderr
        assert process.finish() == 0
    return (valid("generate", report.read_text())["received"],
            valid("generate", sent.stdout)["sent"], process.said, sent.stderr)


@needs_root
def test_the_offset_of_clocks_and_their_errors_add_up(machines, tmp_path):
    plain = one_way(machines, tmp_path, ["--clock", "real", "--clock-error", "0"],
                    ["--clock-error", "0"])[0]
    got, sent, said, sender_said = one_way(
        machines, tmp_path, ["--clock", "real-40s", "--clock-error", "1ms"],
        ["--clock", "real+20s", "--clock-error", "2ms"])
    assert (got["packets"], got["lost"], got["latency_count"]) == (COUNT, 0, COUNT)
    assert plain["one_way"]["error_ns"] == 0 and plain["one_way"]["early"] == 0
    assert plain["latency_count"] == COUNT
    assert 60e9 < got["latency_ns"]["min"] < 60e9 + got["latency_ns"]["max"]
    assert got["latency_ns"]["min"] - 60e9 > 0
    o = got["one_way"]
    assert o["method"] == "clocks" and o["receiver_source"] == "given"
    assert o["early"] == 0 and o["packets"] == COUNT
    assert o["sender_error_ns"] == pytest.approx(1e6, rel=3e-3)
    assert o["receiver_error_ns"] == pytest.approx(2e6)
    assert o["error_ns"] == o["sender_error_ns"] + o["receiver_error_ns"] >= 3e6
    assert "one way, by both machines' clocks: wrong by up to 3.00" in said
    assert sent["clock"] == {"error_ns": 1e6, "source": "given"}
    assert "which may be wrong by 1.000 ms, as given" in sender_said


@needs_root
def test_what_came_before_it_was_sent_shows_that_clocks_differ(machines, tmp_path):
    got, _, said, _ = one_way(machines, tmp_path,
                              ["--clock", "real+600s", "--clock-error", "1ms"],
                              ["--clock-error", "1ms"])
    assert got["packets"] == COUNT and "latency_ns" not in got
    o = got["one_way"]
    assert o["early"] == COUNT and got["unclear"] == 0
    assert 0 < o["earliest_ns"] < 600e9
    assert f"came before they were sent: {COUNT}, by up to" in said


@needs_root
def test_chrony_is_asked(machines, tmp_path):
    """A `chronyc` that says what chrony's says, as it isn't installed."""
    fake = tmp_path / "bin" / "chronyc"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho '{CHRONY}'\n")
    fake.chmod(0o755)
    environment = {**os.environ, "PATH": f"{fake.parent}:{os.environ['PATH']}"}
    got, sent, said, _ = one_way(machines, tmp_path, ["--clock", "real"], [],
                                 env=environment)
    assert sent["clock"]["source"] == got["one_way"]["receiver_source"] == "chrony"
    assert got["one_way"]["receiver_error_ns"] >= 1.31e6
    assert got["one_way"]["error_ns"] >= 2.62e6
    assert "says chrony" in said


@needs_root
def test_the_kernel_is_asked_and_where_nobody_keeps_time_that_is_told(machines, tmp_path):
    silent = tmp_path / "bin" / "chronyc"
    silent.parent.mkdir()
    silent.write_text("#!/bin/sh\necho '506 Cannot talk to daemon'; exit 1\n")
    silent.chmod(0o755)
    environment = {**os.environ, "PATH": f"{silent.parent}:{os.environ['PATH']}"}
    before = kernel_keeps_time()
    got, _, said, _ = one_way(machines, tmp_path, ["--clock", "real"], [],
                              env=environment)
    if kernel_keeps_time() != before:
        pytest.skip("the clock has been joined, or left, meanwhile")
    o = got["one_way"]
    assert o["receiver_source"] == ("kernel" if before else "nobody")
    assert ("error_ns" in o) == before
    assert got["latency_count"] + o["early"] == COUNT
    if not before:
        assert "whose difference is unknown" in said and "--round-trip" in said


@needs_root
def test_half_of_the_round_trip_is_told_as_such(machines):
    here, there = machines
    with running(*there.command(PERIGEE, "echo", "packet:two")) as echo:
        echo.wait_for_engine()
        result = run(*here.command(PERIGEE, "generate", "--port", "packet:one",
                                   "--receive", "packet:one", "--rate", "2kpps", "--count",
                                   COUNT, "--round-trip", "--json", "-"))
        assert result.returncode == 0, result.stderr
        assert echo.interrupt() == 0
    got = valid("generate", result.stdout)["received"]
    assert got["latency_count"] == COUNT
    o = got["one_way"]
    assert o["method"] == "half of the round trip"
    for name, value in got["latency_ns"].items():
        assert o["latency_ns"][name] == pytest.approx(value / 2)
    assert o["error_ns"] == pytest.approx(got["latency_ns"]["max"] / 2)
    assert "one way, half of the round trip: min" in result.stderr


def test_checksums_hold_with_such_times(tmp_path):
    for payload in [], ["--payload", "odd"]:
        packets = generated(tmp_path / "out.pcap", "--clock", "real", "--clock-error",
                            "3s", "--size", "100..104", "--count", 50, "--set",
                            "udpSrc=random", *payload)
        assert all(rebuilt(data) == data for data in packets)


@pytest.mark.fast
@pytest.mark.parametrize("words, why", [
    (["--port", "null", "--clock", "utc"], "'utc' is no clock: tsc, real, or"),
    (["--port", "null", "--clock-error", "x"], "'x' isn't a duration"),
    (["--port", "null", "--clock-error", "1ms"], "--clock-error is of --clock real"),
    (["--port", "null", "--ptp", "/x"], "--ptp is of --clock real"),
    (["--receive", "null", "--ptp", "/x", "--clock-error", "1ms"], "leave one out"),
    (["--receive", "null", "--ptp", "/x,domain=300"], "is no socket of ptp4l"),
    (["--port", "null", "--round-trip"], "--round-trip needs --port and --receive"),
    (["--port", "ring:a", "--receive", "ring:a", "--round-trip", "--clock", "real"],
     "--round-trip is by one clock")])
def test_what_cannot_be_of_clocks_is_told(words, why):
    result = perigee("generate", *words, "--count", "1")
    assert result.returncode == 2, result
    assert why in result.stderr and result.stderr.count("\n") == 1, result.stderr
