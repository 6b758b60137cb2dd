# SPDX-License-Identifier: Apache-2.0
"""`click --cpus` and `-j`: copies of a configuration on several CPUs, where it allows
that."""

import json
import os

import pytest

from helpers.command import PERIGEE, perigee, run, running, wait_until

MIRROR = "FromDPDKDevice(0) -> c :: Counter -> EtherMirror -> ToDPDKDevice(0)"
DEVICE = ("--device", "0=null:size=60")
CPUS = sorted(os.sched_getaffinity(0))

two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="it takes two CPUs")


def busy(pid):
    """The apps through which packets pass."""
    result = perigee("top", "--once", "--json", "-i", "300ms", pid)
    if result.returncode:
        return set()
    return {app["name"] for app in json.loads(result.stdout)[0]["apps"] if app["output"] > 0}


@two_cpus
@pytest.mark.parametrize("words", [("--cpus", f"{CPUS[0]},{CPUS[-1]}"), ("-j", "2")],
                         ids=["cpus", "j"])
def test_copies_run_on_both(words):
    with running(PERIGEE, "click", *words, *DEVICE, "-e", MIRROR) as click:
        click.wait_for_engine()
        wait_until(lambda: {"click_1/c", "click_2/c"} <= busy(click.pid), "both copies")
        threads = {path for path in os.listdir(f"/proc/{click.pid}/task")}
        assert len(threads) > 2
        assert click.interrupt() == 0


@pytest.mark.parametrize("words, text, why", [
    ((), "FromDPDKDevice(0) -> q :: Queue -> Unqueue -> s :: Discard;"
     "Script(wait 0.1, stop)", "q :: Queue sees all packets, or the router"),
    ((), "Idle -> Discard; DriverManager(wait 0.1, stop)",
     "DriverManager@3 :: DriverManager sees all packets, or the router"),
    (("-h", "c.count"), MIRROR.replace("(0)", "(1)", 1), "-h needs one router"),
], ids=["element", "script", "handler"])
def test_others_run_on_one_which_is_said(words, text, why, tmp_path):
    capture = tmp_path / "none.pcap"
    capture.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    result = run(PERIGEE, "click", "--cpus", f"{CPUS[0]},{CPUS[0] + 1}", *DEVICE,
                 "--device", f"1=pcap:rx={capture}", *words, "-e", text, timeout=60)
    assert result.returncode == 0, result.stderr
    assert f"warning: it runs on one CPU: {why}\n" in result.stderr


def test_a_file_is_not_copied(tmp_path):
    capture = tmp_path / "none.pcap"
    capture.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    result = run(PERIGEE, "click", "--cpus", "0-1", "--device", f"0=pcap:rx={capture}",
                 "-e", "FromDPDKDevice(0) -> Discard", timeout=60)
    assert result.returncode == 0, result.stderr
    assert f"port 'pcap:rx={capture}' has one queue" in result.stderr


def test_a_list_that_is_none_is_refused():
    result = run(PERIGEE, "click", "--cpus", "0-x", "-e", "Idle -> Discard")
    assert result.returncode != 0
    assert "give CPUs such as 1-4 or 0,2" in result.stderr
