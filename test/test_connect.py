# SPDX-License-Identifier: Apache-2.0
"""perigee connect with itself, and as captures have it. (With Linux: test_connect_linux.py;
loss, reordering and their kin on a simulated wire: src/apps/connect/transfer_spec.lua.)"""

import json
import re

import pytest

from helpers.capture import save
from helpers.command import ROOT, check, perigee
from helpers.connect import connect
from helpers.schema import valid

BOTH = ["--clients", "10.0.0.1..10.0.0.99", "--servers", "10.0.1.0/28"]


# With itself ----------------------------------------------------------------------


@pytest.mark.fast
@pytest.mark.parametrize("options, expected", [
    ([], 1000), (["--http", "/", "--requests", "3"], None),
    (["--vlan", "7", "--requests", "2"], 2000)])
@pytest.mark.parametrize("ports", [[], ["ring:a", "ring:a"]])
def test_both_sides_count_the_same(options, expected, ports):
    results = connect("both", *ports, *BOTH, "--count", "400", *options)
    client, server = results["client"]["counts"], results["server"]["counts"]
    assert client["started"] == client["closed"] == server["closed"] == 400, results
    assert client["requests"] == client["answers"] == server["answers"], results
    assert client["bytes_sent"] == server["bytes_received"]
    assert client["bytes_received"] == server["bytes_sent"]
    if expected:
        assert client["bytes_received"] == 400 * expected
    assert results["client"]["connect_ns"]["count"] == 400
    assert results["client"]["first_byte_ns"]["count"] == client["requests"]


@pytest.mark.fast
def test_datagrams():
    results = connect("both", *BOTH, "--udp", "--count", "300", "--requests", "2")
    client, server = results["client"]["counts"], results["server"]["counts"]
    assert client["closed"] == client["established"] == 300, results
    assert client["answers"] == 600 and server["requests"] >= 600, results


def test_ipv6():
    results = connect("both", "--clients", "2001:db8::1..2001:db8::99", "--servers",
                      "2001:db8:1::/120", "--count", "300")
    assert results["client"]["counts"]["closed"] == 300, results


def test_a_time_ends_and_what_is_open_is_aborted():
    results = connect("both", *BOTH, "--duration", "300ms", "--rate", "2k", "--life", "1h",
                      "--drain", "0")
    client, server = results["client"]["counts"], results["server"]["counts"]
    assert client["started"] == client["aborted"] > 0, results
    assert server["started"] == server["reset"] + server["aborted"], results


def test_the_report_says_the_sum():
    result = perigee("connect", "both", *BOTH, "--count", "5")
    assert "ended: 5 closed, 0 reset, 0 refused, 0 timed out, 0 aborted, 0 open; together " \
        "5, as many as were started" in result.stdout, result.stdout + result.stderr


@pytest.mark.fast
@pytest.mark.parametrize("words, said", [
    (["client", "null"], "connect client needs --servers RANGE"),
    (["client", "null", "--servers", "10.0.0.1"], "connect client needs --clients RANGE"),
    (["server", *BOTH], "connect server takes one port, not 0"),
    (["both", "null", *BOTH], "connect both takes two ports or none, not 1"),
    (["both", "--clients", "10.0.0.1", "--servers", "::1"],
     "'::1' has addresses that no host can have"),
    (["both", "--clients", "10.0.0.1", "--servers", "2001:db8::1"],
     "clients and servers are of one family: not IPv4 and IPv6"),
    (["both", "--clients", "10.0.0.9..10.0.0.1", "--servers", "10.1.0.0"],
     "'10.0.0.9..10.0.0.1' isn't a range of addresses"),
    (["both", "--clients", "10.0.0.0/7", "--servers", "10.1.0.0"], "has more than"),
    (["both", "--clients", "10.0.0.1/24", "--servers", "10.1.0.0"],
     "the bits behind the first 24 must be 0"),
    (["both", *BOTH, "--server-ports", "70000"], "'70000' isn't a port from 0 to 65535"),
    (["both", *BOTH, "--http", "x"], "the path 'x' doesn't begin with /"),
    (["both", *BOTH, "--mac", "01:00:00:00:00:01"], "isn't the Ethernet address"),
    (["both", *BOTH, "--response", "0"], "a response's size in bytes is a whole number"),
    (["both", *BOTH, "--udp", "--http", "/"], "HTTP/1.1 is spoken over TCP, not over UDP"),
    (["both", *BOTH, "--udp", "--response", "1473"],
     "a datagram of 1473 bytes doesn't fit into an MTU of 1500"),
    (["server", "null", "--servers", "10.0.0.1", "--peer-mac", "x"],
     "the peer's MAC address 'x' isn't the Ethernet address of one station"),
    (["server", "null", "--servers", "10.0.0.1", "--gateway", "2001:db8::1"],
     "the gateway '2001:db8::1' isn't an IPv4 address"),
    (["both", *BOTH, "--rate", "0"], "--rate, --count and --concurrent are at least 1")])
def test_what_makes_no_sense_is_told(words, said):
    result = perigee("connect", *words)
    assert result.returncode == 2, result.stdout
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_nobody_has_the_address():
    result = perigee("connect", "client", "null", "--clients", "10.0.0.1", "--servers",
                     "10.0.0.2", "--count", "1")
    assert result.returncode == 1
    assert result.stderr == "perigee: nobody says to have 10.0.0.2: no answer within 3 " \
        "seconds\n"


@pytest.mark.fast
def test_no_connection_is_established():
    result = perigee("connect", "client", "null", "--clients", "10.0.0.1", "--servers",
                     "10.0.0.2", "--peer-mac", "02:00:00:00:00:09", "--count", "3",
                     "--timeout", "100ms")
    assert result.returncode == 1
    assert "3 timed out, 0 aborted" in result.stdout
    assert result.stderr == "perigee: none of 3 connections was established: 0 refused, " \
        "3 timed out, 0 reset\n"


@pytest.mark.fast
def test_the_schema_refuses_what_is_not_known():
    text = perigee("connect", "both", *BOTH, "--count", "1", "--json", "-").stdout
    results = json.loads(text)
    results["client"]["counts"]["more"] = 1
    with pytest.raises(Exception, match="more"):
        valid("connect", json.dumps(results))


# tshark ---------------------------------------------------------------------------


def expert(path):
    """What tshark's expert finds that is a warning or an error: {summary: how often}."""
    text = check("tshark", "-r", path, "-q", "-z", "expert,warn", "-o",
                 "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE")
    return {m[2].strip(): int(m[1]) for m in re.finditer(
        r"^ +(\d+) +\S+ +\S+ +(.*)$", text, re.MULTILINE)}


def captured(path, *args):
    result = perigee("-p", ROOT / "test/lua", "run", ROOT / "test/lua/testing/tcp_capture.lua",
                     path, *args)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("both", [
    "{response = 30000, requests = 2}", "{http = '/', response = 5000, requests = 3}",
    "{clients = '2001:db8::1', servers = '2001:db8::2', vlan = 9, response = 9000}"])
def test_tshark_finds_no_fault(tmp_path, both):
    said = captured(tmp_path / "wire.pcap", 50, 0, both)
    assert said == "50 of 50 closed; lost 0\n"
    assert expert(tmp_path / "wire.pcap") == {}


def test_tshark_finds_what_was_lost(tmp_path):
    said = captured(tmp_path / "wire.pcap", 50, 0.02,
                    "{response = 30000, time_wait = 9}")
    assert said.startswith("50 of 50 closed; lost "), said
    found = expert(tmp_path / "wire.pcap")
    allowed = ("Previous segment(s) not captured", "out-of-order segment",
               "ACKed segment that wasn't captured", "fast retransmission")
    assert found, said
    assert all(any(text in summary for text in allowed) for summary in found), found


# A capture ------------------------------------------------------------------------


@pytest.mark.parametrize("both", [
    "{request = 77, response = 3456, requests = 3}",
    "{request = 77, response = 3456, requests = 3, clients = '2001:db8::1',"
    " servers = '2001:db8::2', vlan = 9}"])
def test_conversations_are_as_in_a_capture(tmp_path, both):
    captured(tmp_path / "wire.pcap", 20, 0.03, both)
    results = connect("both", *BOTH, "--count", "60", "--template", tmp_path / "wire.pcap")
    counts = results["client"]["counts"]
    assert counts["closed"] == 60 and counts["answers"] == 180, results
    assert counts["bytes_sent"] == 180 * 77, results
    assert counts["bytes_received"] == 180 * 3456, results


def test_a_capture_without_conversations(tmp_path):
    path = save(tmp_path / "none.pcap", [bytes(60)] * 3)
    result = perigee("connect", "both", *BOTH, "--template", path)
    assert result.returncode == 2
    assert "none.pcap has no TCP connection over which something was said" in result.stderr
