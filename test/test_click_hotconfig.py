# SPDX-License-Identifier: Apache-2.0
"""`click -R`: a router's configuration is exchanged while it runs, by a control socket."""

import time

import pytest

from helpers.click_control import ask, connect
from helpers.command import PERIGEE, TIMEOUT_S, running

OLD = "Idle -> s :: Switch(0) -> Idle; s[1] -> Idle; c :: Idle"
NEW = "Idle -> s :: Switch(1) -> Idle; s[1] -> Idle; DriverManager(wait_stop, stop)"


@pytest.mark.fast
def test_it_is_exchanged(tmp_path):
    path = tmp_path / "socket"
    with running(PERIGEE, "click", "-R", "-u", path, "-e", OLD) as click:
        control = connect(path)
        assert control.readline().startswith("Click::ControlSocket/1.")
        assert ask(control, "READ s.config") == "0"
        assert ask(control, f"WRITE hotconfig {NEW}")[0].startswith("200")
        assert ask(control, "READ s.config") == "1"
        # A wrong one changes nothing.
        assert ask(control, "WRITE hotconfig Switch")[1:] == [
            "520-config:1: 'Switch@1 :: Switch' input 0 unused",
            "520 Router could not be initialized!"]
        assert ask(control, "WRITE hotconfig a :: Swich")[1:] == [
            "520-config:1: unknown element class 'Swich'",
            "520 config:1:   did you mean 'Switch'?"]
        assert ask(control, "READ s.config") == "1"
        assert "c\n" not in ask(control, "READ list")
        # Commands that come together go to the router of their time.
        control.write(f"WRITE hotconfig {OLD}\r\nREAD s.config\r\n")
        control.flush()
        assert control.readline().startswith("200")
        assert control.readline().startswith("200")
        assert control.readline() == "DATA 1\r\n"
        assert control.read(1) == "0"
        ask(control, "WRITE stop")
        assert click.finish() == 0


KEEPERS = """
    InfiniteSource(LIMIT 5, ACTIVE {active}) -> c :: Counter -> q :: Queue -> Idle;
    table :: ARPTable; Idle -> arp :: ARPQuerier(1.0.0.1, 2:0:0:0:0:1, TABLE table)
      -> Idle; Idle -> [1] arp;
    InfiniteSource(LIMIT 3, ACTIVE {active}) -> UDPIPEncap(1.0.0.1, 1, 2.0.0.2, 2)
      -> rw :: IPRewriter(pattern 9.0.0.9 1024-65535# - - 0 0) -> d :: Counter -> Discard;
    x :: {other};"""


def test_elements_keep_what_they_hold(tmp_path):
    path = tmp_path / "socket"
    first = " ".join(KEEPERS.format(active="true", other="AddressInfo").split())
    second = " ".join(KEEPERS.format(active="false", other="PortInfo").split())
    with running(PERIGEE, "click", "-R", "-u", path, "-e", first) as click:
        control = connect(path)
        control.readline()
        ask(control, "WRITE table.insert 1.0.0.2 2:0:0:0:0:2")
        end = time.monotonic() + TIMEOUT_S
        while ask(control, "READ d.count") != "3":
            assert time.monotonic() < end
        before = {name: ask(control, f"READ {name}") for name in (
            "c.count", "q.length", "rw.table_size", "rw.udp_table")}
        assert before["c.count"] == before["q.length"] == "5"
        assert before["rw.table_size"] == "1"
        for text in (second, first.replace("ACTIVE true", "ACTIVE false"), second):
            assert ask(control, f"WRITE hotconfig {text}")[0].startswith("200")
            after = {name: ask(control, f"READ {name}") for name in before}
            times = [table.pop("rw.udp_table").split(" [")[0] for table in (before, after)]
            assert after == before and times[0] == times[1]
            before["rw.udp_table"] = times[0]
            assert "1.0.0.2" in ask(control, "READ table.table")
        ask(control, "WRITE stop")
        assert click.finish() == 0


def test_a_port_that_cannot_be_opened_leaves_the_old_one(tmp_path):
    path = tmp_path / "socket"
    text = 'FromDPDKDevice("null:size=60") -> c :: Counter -> Discard;'
    with running(PERIGEE, "click", "-R", "-u", path, "-e", text) as click:
        control = connect(path)
        control.readline()
        ask(control, "WRITE hotconfig FromDPDKDevice(77) -> Discard")
        first = int(ask(control, "READ c.count"))
        end = time.monotonic() + TIMEOUT_S
        while int(ask(control, "READ c.count")) <= first:
            assert time.monotonic() < end
        ask(control, "WRITE hotconfig " + text.replace("60", "61"))
        assert "61" in ask(control, "READ FromDPDKDevice@1.config")
        ask(control, "WRITE stop")
        assert click.finish() == 0
    assert "the former configuration runs on" in click.said
