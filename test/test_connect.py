# SPDX-License-Identifier: Apache-2.0
"""perigee connect: with itself, and with Linux on the other side of a veth pair. (Loss,
reordering and their kin on a simulated wire: src/apps/connect/transfer_spec.lua.)"""

import hashlib
import http.client
import http.server
import json
import re
import socket
import threading

import pytest

from helpers.capture import save
from helpers.command import PERIGEE, ROOT, check, perigee, run, running, wait_until
from helpers.schema import valid

PATTERN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+\n"
BOTH = ["--clients", "10.0.0.1..10.0.0.99", "--servers", "10.0.1.0/28"]
ENDS = ["closed", "reset", "refused", "timed_out", "aborted", "open"]


def connect(*args, command=(), **kwargs):
    """The results of a run, from its JSON."""
    result = run(*command, PERIGEE, "connect", *args, "--json", "-", **kwargs)
    assert result.returncode == 0, result.stderr
    return checked(result.stdout)


def checked(text):
    """Results, in which every connection is accounted for."""
    results = valid("connect", text)
    for side in {"client", "server"} & set(results):
        counts = results[side]["counts"]
        assert results[side]["balanced"], counts
        assert counts["started"] == sum(counts[name] for name in ENDS), counts
    return results


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


# Linux ----------------------------------------------------------------------------


def addresses(there):
    there.ip("addr", "add", "10.9.1.1/16", "dev", "right")


class Files(http.server.BaseHTTPRequestHandler):
    """Answers each request with so many bytes, and keeps the connection."""

    protocol_version = "HTTP/1.1"
    length = 100_000

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(self.length))
        self.end_headers()
        self.wfile.write(bytes(self.length))

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, *_):
        """Connections are reset here, as they should be."""


def test_a_server_of_linux(pair):
    here, there = pair
    addresses(there)
    with there.entered():
        server = Server(("10.9.1.1", 80), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        results = connect("client", "packet:left", "--clients", "10.9.2.1..10.9.2.9",
                          "--servers", "10.9.1.1", "--http", "/x", "--requests", "3",
                          "--count", "60", "--concurrent", "10", "--timeout", "60",
                          command=here.command())
    finally:
        server.shutdown()
        server.server_close()
    counts = results["client"]["counts"]
    assert counts["closed"] == counts["established"] == 60, results
    assert counts["answers"] == 180 and counts["failed_answers"] == 0, results
    assert counts["bytes_received"] > 180 * Files.length, results


def test_a_port_of_linux_that_nobody_listens_on(pair):
    here, there = pair
    addresses(there)
    results = connect("client", "packet:left", "--clients", "10.9.2.1", "--servers",
                      "10.9.1.1", "--count", "5", command=here.command())
    assert results["client"]["counts"]["refused"] == 5, results


def test_datagrams_to_linux(pair):
    """One port answers what is asked, twice as long; on another nobody listens."""
    here, there = pair
    addresses(there)
    options = ["client", "packet:left", "--udp", "--clients", "10.9.2.1..10.9.2.5",
               "--servers", "10.9.1.1", "--requests", "2", "--timeout", "30"]
    with there.entered():
        answering = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        answering.bind(("10.9.1.1", 7))

    def answer():
        while True:
            data, peer = answering.recvfrom(2048)
            if data == b"end":
                return
            answering.sendto(data * 2, peer)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    results = connect(*options, "--server-ports", "7", "--count", "20",
                      command=here.command())
    with there.entered():
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"end", ("10.9.1.1", 7))
    thread.join()
    answering.close()
    counts = results["client"]["counts"]
    assert counts["closed"] == 20 and counts["answers"] == 40, results
    assert counts["bytes_received"] == 200 * (40 + counts["duplicates"]), results
    results = connect(*options, "--server-ports", "9", "--count", "5",
                      command=here.command())
    assert results["client"]["counts"]["refused"] == 5, results


IMPAIRED = """
local Impair = {}
Impair.__index = Impair
function Impair:new() return setmetatable({n = 0, lost = 0, held = {}}, Impair) end
-- Of each 50 packets one is lost, and one of each 20 comes four behind its place.
local function pass(self, input, output, list)
  for _ = 1, link.nreadable(input) do
    local p = link.receive(input)
    self.n = self.n + 1
    if self.n % 50 == 0 then
      self.lost = self.lost + 1
      packet.free(p)
    elseif self.n % 20 == 7 and not list.p then
      list.p, list.left = p, 4
    else
      link.transmit(output, p)
      if list.p then
        list.left = list.left - 1
        if list.left == 0 then
          link.transmit(output, list.p)
          list.p = nil
        end
      end
    end
  end
end
function Impair:push()
  self.one, self.two = self.one or {}, self.two or {}
  pass(self, self.input.a, self.output.b, self.one)
  pass(self, self.input.b, self.output.a, self.two)
end
local c = config.new()
config.app(c, "port", require("apps.port.port").Port, "packet:left")
config.app(c, "impair", Impair)
config.app(c, "server", require("apps.connect.endpoint").Server,
  {servers = "10.9.2.0/24", http = "/", response = 300000, mac = "02:00:00:00:00:05"})
config.link(c, "port.output -> impair.a")
config.link(c, "impair.a -> port.input")
config.link(c, "server.output -> impair.b")
config.link(c, "impair.b -> server.input")
engine.configure(c)
engine.busywait = true
print("ready")
io.stdout:flush()
engine.main{no_report = true, duration = 3600}
"""


def fetch(there, address, n):
    """The SHA-256 of `n` answers over one connection."""
    with there.entered():
        connection = http.client.HTTPConnection(address, 8080, timeout=120)
        connection.connect()
    digests = []
    for _ in range(n):
        connection.request("GET", "/")
        digests.append(hashlib.sha256(connection.getresponse().read()).hexdigest())
    connection.close()
    return digests


def filling(length):
    return hashlib.sha256((PATTERN * (length // len(PATTERN) + 1))[:length]).hexdigest()


def test_a_client_of_linux_gets_every_byte(pair):
    here, there = pair
    addresses(there)
    with running(*here.command(PERIGEE, "connect", "server", "packet:left", "--servers",
                               "10.9.2.0/24", "--http", "/", "--response", "500000",
                               "--count", "8", "--json", "-")) as server:
        server.wait_for_engine()
        for i in range(1, 9):
            assert fetch(there, f"10.9.2.{i}", 2) == [filling(500000)] * 2, server.said
        assert server.finish() == 0
    results = checked(server.said[server.said.index("{"):].splitlines()[0])
    counts = results["server"]["counts"]
    assert counts["closed"] == 8 and counts["answers"] == 16, results


def test_a_client_of_linux_behind_loss_and_reordering(pair, tmp_path):
    here, there = pair
    addresses(there)
    script = tmp_path / "impaired.lua"
    script.write_text(IMPAIRED)
    with running(*here.command(PERIGEE, "run", script)) as server:
        server.wait_for("ready")
        for i in range(1, 4):
            assert fetch(there, f"10.9.2.{i}", 2) == [filling(300000)] * 2, server.said


def test_interrupted_it_reports_all_the_same(pair):
    here, there = pair
    addresses(there)
    with there.entered():
        server = Server(("10.9.1.1", 80), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with running(*here.command(PERIGEE, "connect", "client", "packet:left", "--clients",
                                   "10.9.2.1..10.9.2.9", "--servers", "10.9.1.1", "--http",
                                   "/", "--life", "1h", "--concurrent", "5", "--json",
                                   "-")) as client:
            def all_open():
                client.read()
                table = there.run("ss", "-Htn", "state", "established").stdout
                return table.count("10.9.1.1:80") >= 5
            wait_until(all_open, "five connections")
            assert client.interrupt() == 0
    finally:
        server.shutdown()
        server.server_close()
    line = next(line for line in client.said.splitlines() if line.startswith("{"))
    counts = checked(line)["client"]["counts"]
    assert counts["started"] == counts["aborted"] == 5, client.said


@pytest.mark.fast
def test_the_schema_refuses_what_is_not_known():
    text = perigee("connect", "both", *BOTH, "--count", "1", "--json", "-").stdout
    results = json.loads(text)
    results["client"]["counts"]["more"] = 1
    with pytest.raises(Exception, match="more"):
        valid("connect", json.dumps(results))
