# SPDX-License-Identifier: Apache-2.0
"""Reports as JSON, and one spelling of times and rates in all programs."""

import json

import pytest

from helpers.capture import load, save
from helpers.command import perigee

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
