# SPDX-License-Identifier: Apache-2.0
"""Scripts' tables: routes, distributors and hash maps that tasks share; and figures for
Graphite."""

import re
import socket

import pytest
from scapy.all import IP, UDP, Ether

from helpers import capture
from helpers.command import PERIGEE, ROOT, TIMEOUT_S, perigee, running

SCRIPTS = ROOT / "test/moongen"
ROUTES = {"10.9.9.9": 1, "10.1.9.9": 2, "10.1.2.3": 3, "11.0.0.1": None}


def ports(tmp_path):
    return ["--port", f"0=pcap:rx={tmp_path}/in.pcap", "--port",
            f"1=pcap:tx={tmp_path}/out.pcap"]


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(TIMEOUT_S)
        yield listening


def test_routes_and_shared_tables(tmp_path, server):
    sent = [Ether(dst="02:00:00:00:00:99") / IP(dst=dst, ttl=ttl) / UDP() / bytes([i] * 20)
            for i in range(50) for ttl in (1, 9) for dst in ROUTES]
    capture.save(tmp_path / "in.pcap", [bytes(p) for p in sent])
    command = [PERIGEE, "moongen", *ports(tmp_path), SCRIPTS / "tables.lua", len(sent),
               "127.0.0.1:%d" % server.getsockname()[1]]
    with running(*command) as process:
        connection, _ = server.accept()
        connection.settimeout(TIMEOUT_S)
        with connection, connection.makefile() as lines:
            assert process.finish() == 0, process.said
            assert re.fullmatch(rf"test\.counted {2 * len(sent)}\.0+ \d+\n", lines.read())
    assert f"counted\t{2 * len(sent)}\n" in process.said
    got = [Ether(p) for p in capture.load(tmp_path / "out.pcap")]
    for dst, route in ROUTES.items():
        routed = [p for p in got if p[IP].dst == dst]
        assert len(routed) == (50 if route else 0)
        assert all(p.dst == f"00:00:00:00:00:0{route}" and p[IP].ttl == 8 for p in routed)
        numbers = [bytes(p[UDP].payload)[0] for p in routed]
        assert numbers == sorted(numbers)


def test_a_graphite_that_is_not_there_is_told_once(tmp_path, server):
    address = "127.0.0.1:%d" % server.getsockname()[1]
    server.close()
    script = tmp_path / "script.lua"
    script.write_text("""
        function master(server)
          local writer = require("graphite").newWriter(server)
          for i = 1, 100 do writer:write("a", i) end
        end""")
    result = perigee("moongen", script, address)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count(f"could not connect to {address}: ") == 1
